// The token of this browser's login. It is kept in the storage of the page's origin, which a server on another port of the
// same host cannot read, while the browser sends that server our cookie. The API asks for both.
const STORAGE_KEY = "wakeful.token";

const HEADER = "X-Wakeful-Token";

export function storeToken(token: string): void {
  localStorage.setItem(STORAGE_KEY, token);
}

export function removeToken(): void {
  localStorage.removeItem(STORAGE_KEY);
}

/** What every request of the page carries beside the cookie. */
export function tokenHeaders(): Record<string, string> {
  const token = localStorage.getItem(STORAGE_KEY);
  return token === null ? {} : { [HEADER]: token };
}
