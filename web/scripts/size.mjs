// Fails when the first page load exceeds its limit: every file that index.html names, compressed with gzip.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

/** A phone on a slow connection loads this much in about two seconds. */
const FIRST_LOAD_BYTES_MAX = 152_000;

const dist = new URL("../dist/", import.meta.url);
const html = readFileSync(new URL("index.html", dist));
const named = [...html.toString().matchAll(/(?:src|href)="\/(assets\/[^"]+\.(?:js|css))"/g)].map((match) => match[1]);
const sizes = named.map((name) => ({ name, bytes: gzipSync(readFileSync(new URL(name, dist))).length }));
sizes.push({ name: "index.html", bytes: gzipSync(html).length });

const total = sizes.reduce((sum, file) => sum + file.bytes, 0);
for (const { name, bytes } of sizes) console.log(`${String(bytes).padStart(8)}  ${name}`);
console.log(`${String(total).padStart(8)}  first load, gzip; at most ${FIRST_LOAD_BYTES_MAX}`);
if (named.length === 0 || total > FIRST_LOAD_BYTES_MAX) process.exit(1);
