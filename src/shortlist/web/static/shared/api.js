// Every call the pages make: JSON in, JSON out, errors as sentences.

const TIMEOUT = 20_000; // milliseconds; a request that hangs counts as a failed one and is sent again

export class ApiError extends Error {
  /**
   * @param {string} message a sentence
   * @param {number} status of HTTP; 0: no answer came at all
   * @param {number} wait seconds that the server asks to wait
   */
  constructor(message, status, wait = 0) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.wait = wait;
  }

  /** Worth sending again just as it is. */
  get passing() {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }

  get signedOut() {
    return this.status === 401 || this.status === 403;
  }
}

const token = () => document.querySelector('meta[name="csrf"]')?.content ?? "";

export async function call(method, path, body, { keepalive = false } = {}) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-CSRF-Token"] = token();
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      keepalive,
      credentials: "same-origin",
      cache: "no-store",
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT),
    });
  } catch {
    throw new ApiError("the server cannot be reached", 0);
  }
  return read(response);
}

async function read(response) {
  let body = null;
  try {
    body = await response.json();
  } catch {
    // A page instead of JSON: a sign-in page behind a redirect, or a proxy's own error
    if (response.redirected) throw new ApiError("you are signed out", 401);
    if (response.ok) throw new ApiError("the server's answer could not be read", 502);
  }
  if (response.ok) return body;
  const message = typeof body?.error === "string" ? body.error : `the server answered ${response.status}`;
  throw new ApiError(message, response.status, Number(response.headers.get("Retry-After")) || 0);
}

export const api = {
  me: () => call("GET", "/api/me"),
  guide: (classes) => call("GET", `/api/guide?classes=${classes.join(",")}`),
  classes: () => call("GET", "/api/classes"),
  status: () => call("GET", "/api/status"),
  questions: (n, holding) => call("GET", `/api/questions?n=${n}&holding=${holding.join(",")}`),
  question: (id) => call("GET", `/api/questions/${id}`),
  answers: (limit) => call("GET", `/api/answers?limit=${limit}`),
  // keepalive: an answer on its way arrives also when the tab is closed under it
  answer: (body) => call("POST", "/api/answers", body, { keepalive: true }),
  release: (questions) => call("POST", "/api/leases/release", { questions }, { keepalive: true }),
};
