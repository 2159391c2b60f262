// Starts and stops the program, and creates login links.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const binary = process.env.WAKEFUL_BIN ?? "wakeful";

export class Daemon {
  private constructor(
    private readonly process: ChildProcess,
    private readonly home: string,
    readonly url: string,
    readonly port: number,
  ) {}

  /** Starts a daemon and waits until it reports its address. Port 0 is any free port. */
  static async start(home: string, port: number): Promise<Daemon> {
    const args = ["serve", "--home", home, "--port", String(port), "--json"];
    const child = spawn(binary, args, { cwd: home, stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout });
    const died = once(child, "exit").then(([code]) => {
      throw new Error(`${binary} serve ended with ${String(code)} before it listened`);
    });
    const [line] = (await Promise.race([once(lines, "line"), died])) as [string];
    const { http_addr: address } = JSON.parse(line) as { http_addr: string };
    died.catch(() => undefined);
    return new Daemon(child, home, `http://${address}`, Number(address.split(":").at(-1)));
  }

  /** The path of a file that redirects a browser to a login link, as `wakeful open` creates it. */
  async loginPage(): Promise<string> {
    const token = await readFile(join(this.home, "token"), "utf8");
    const response = await fetch(`${this.url}/api/login-pages`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
    });
    return ((await response.json()) as { path: string }).path;
  }

  async loginLink(): Promise<string> {
    const { stdout } = await promisify(execFile)(binary, ["open", "--home", this.home, "--print", "--json"]);
    return (JSON.parse(stdout) as { url: string }).url;
  }

  /** Stops the daemon, or kills it with SIGKILL, and waits until it has ended. */
  async stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = once(this.process, "exit");
    this.process.kill(signal);
    await ended;
  }
}
