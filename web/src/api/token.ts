// The token of this browser's login. The API requires it beside the cookie: browsers send a cookie to every port of a
// host, but a server on another port cannot read the storage of this page's origin.
const STORAGE_KEY = "wakeful.token";

const HEADER = "X-Wakeful-Token";

export function storeToken(token: string): void {
  localStorage.setItem(STORAGE_KEY, token);
}

export function removeToken(): void {
  localStorage.removeItem(STORAGE_KEY);
}

/** The headers that every request of the page sends beside the cookie. */
export function tokenHeaders(): Record<string, string> {
  const token = localStorage.getItem(STORAGE_KEY);
  return token === null ? {} : { [HEADER]: token };
}
