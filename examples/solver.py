"""A Solver with the standard library only: verifies /solve, answers 202, solves, calls back signed."""

import hashlib, hmac, json, os, re, sys, threading, time, urllib.parse, urllib.request, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SOLVER_SECRET = os.environ.get("SOLVER_SECRET", "").encode()
CHAL_SECRET = os.environ.get("CHAL_SECRET", "").encode()
CHAL_KEY_ID = os.environ.get("CHAL_KEY_ID", "chal-kid-1")
HEADER = re.compile(r"RCS-HMAC-SHA256 keyId=[^,]+,ts=(\d+),nonce=([^,]+),sig=([0-9a-f]{64})")
seen, accepted, lock = set(), set(), threading.Lock()


def sign(secret, path, ts, nonce, body):
    text = f"POST\n{path}\n{ts}\n{nonce}\n{hashlib.sha256(body).hexdigest()}"
    return hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()


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
        right = hmac.compare_digest(sig, sign(SOLVER_SECRET, path, ts, nonce, body))
        if not right or abs(time.time() - int(ts)) > 300:
            return "INVALID_SIGNATURE"
        seen.add(nonce)
    return None


def solve(asked):
    answer = str(asked["problem"].get("text", ""))[::-1]
    job = "solver_job_" + asked["challenge_id"]
    body = json.dumps({"api_version": "v2.1", "challenge_id": asked["challenge_id"], "solver_job_id": job,
                       "status": "success", "answer": answer}).encode()
    ts, nonce = int(time.time()), uuid.uuid4().hex
    sig = sign(CHAL_SECRET, urllib.parse.urlsplit(asked["callback_url"]).path, ts, nonce, body)
    headers = {"Content-Type": "application/json", "X-Request-ID": uuid.uuid4().hex,
               "Authorization": f"RCS-HMAC-SHA256 keyId={CHAL_KEY_ID},ts={ts},nonce={nonce},sig={sig}"}
    try:
        urllib.request.urlopen(urllib.request.Request(asked["callback_url"], body, headers), timeout=10)
    except OSError as error:
        print(error, file=sys.stderr)


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
