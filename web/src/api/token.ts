// The token of this browser's login. It is kept in the storage of the page's origin, which a server on another port of the
// same host cannot read, while the browser sends that server our cookie. The API asks for both.
const STORED_AS = "wakeful.token";

const HEADER = "X-Wakeful-Token";

export function storeToken(token: string): void {
  localStorage.setItem(STORED_AS, token);
}

export function removeToken(): void {
  localStorage.removeItem(STORED_AS);
}

/** What every request of the page carries beside the cookie. */
export function tokenHeaders(): Record<string, string> {
  const token = localStorage.getItem(STORED_AS);
  return token === null ? {} : { [HEADER]: token };
}
