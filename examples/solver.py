"""A Solver with the standard library only: verifies /solve, answers 202, solves, and calls back, signed, with retries.

It keeps nothing over a restart.
"""

import hashlib, hmac, json, os, random, re, threading, time, urllib.error, urllib.parse, urllib.request, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SOLVER_SECRET = os.environ.get("SOLVER_SECRET", "").encode()
CHAL_SECRET = os.environ.get("CHAL_SECRET", "").encode()
CHAL_KEY_ID = os.environ.get("CHAL_KEY_ID", "chal-kid-1")
HEADER = re.compile(r"RCS-HMAC-SHA256 keyId=[^,]+,ts=(\d+),nonce=([^,]+),sig=([0-9a-f]{64})")
WAITS = [0.5, 1, 2, 4, 8]
# Problem types and their solvers: add yours here.
SOLVERS = {"text": lambda problem: str(problem.get("text", ""))[::-1]}
seen, accepted, lock = set(), set(), threading.Lock()


def sign(secret, path, ts, nonce, body):
    text = f"POST\n{path}\n{ts}\n{nonce}\n{hashlib.sha256(body).hexdigest()}"
    return hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()


def signed_path(path):
    """The suffix /solve or /callback/{challenge_id}: a proxy may strip a prefix."""
    found = re.search(r"/(solve|callback/[^/]+)$", path)
    return found.group() if found else path


def refusal(header, path, body):
    if header is None:
        return "MISSING_AUTH"
    found = HEADER.fullmatch(header)
    if found is None:
        return "INVALID_AUTH"
    ts, nonce, sig = found.groups()
    with lock:
        if nonce in seen:
            return "REPLAY_ATTACK"
        right = hmac.compare_digest(sig, sign(SOLVER_SECRET, signed_path(path), ts, nonce, body))
        if not right or abs(time.time() - int(ts)) > 300:
            return "INVALID_SIGNATURE"
        seen.add(nonce)
    return None


def outcome_of(problem):
    solver = SOLVERS.get(problem.get("type")) if isinstance(problem, dict) else None
    if solver is not None:
        return {"status": "success", "answer": solver(problem)}
    message = f"type must be one of {', '.join(SOLVERS)}."
    return {"status": "failed", "error_code": "UNSUPPORTED_PROBLEM", "error_message": message}


def solve(asked):
    job = "solver_job_" + asked["challenge_id"]
    body = json.dumps({"api_version": "v2.1", "challenge_id": asked["challenge_id"], "solver_job_id": job,
                       **outcome_of(asked.get("problem"))}).encode()
    request_id = uuid.uuid4().hex  # one for all attempts: the Challenger recognises a repetition
    for wait in [*WAITS, None]:
        status = call_back(asked["callback_url"], request_id, body)
        may_help = status is None or status == 429 or status >= 500
        if not may_help or wait is None:
            return
        time.sleep(wait * random.uniform(0.85, 1.15))


def call_back(url, request_id, body):
    """The status of the answer, or None if there was none."""
    ts, nonce = int(time.time()), uuid.uuid4().hex
    sig = sign(CHAL_SECRET, signed_path(urllib.parse.urlsplit(url).path), ts, nonce, body)
    headers = {"Content-Type": "application/json", "X-Request-ID": request_id,
               "Authorization": f"RCS-HMAC-SHA256 keyId={CHAL_KEY_ID},ts={ts},nonce={nonce},sig={sig}"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


class Solver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        code = refusal(self.headers.get("Authorization"), self.path.split("?")[0], body)
        if code is not None:
            return self.answer(401, {"error": {"code": code, "message": code, "request_id": uuid.uuid4().hex}})
        asked = json.loads(body)
        with lock:
            new = asked["challenge_id"] not in accepted
            accepted.add(asked["challenge_id"])
        message = "Challenge accepted" if new else "Challenge already accepted"
        self.answer(202, {"message": message, "solver_job_id": "solver_job_" + asked["challenge_id"]})
        if new:
            threading.Thread(target=solve, args=(asked,)).start()

    def answer(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Solver)
print(f"listening on {server.server_port}", flush=True)
server.serve_forever()
