#!/usr/bin/env python3
"""A worker of the pool in Python, with nothing but the standard library.

    WORKER_ID=7 WORKER_KEY=worker.key WORKER_API_KEY=reeve_... SERVER=http://127.0.0.1:8080 python3 examples/worker.py

The key file is the one that `reeve worker keygen` writes. Ed25519 is written out below, from RFC 8032, so that there is
nothing to install; it is not constant-time. With the package cryptography it is two lines:
Ed25519PrivateKey.from_private_bytes(seed).sign(message).
"""
import base64
import hashlib
import json
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request

SERVER = os.environ.get("SERVER", "http://127.0.0.1:8080")
WORKER_ID = int(os.environ["WORKER_ID"])
API_KEY = os.environ["WORKER_API_KEY"]
WAIT_SEC = int(os.environ.get("WAIT", "50"))
HEARTBEAT_SEC = float(os.environ.get("HEARTBEAT", "10"))
SUBMIT_TRIES_MAX = 20
BODY_BYTES_MAX = 5 * 1024 * 1024  # the server's limit: it answers a larger body before it has read it, and hangs up
RETRY_SEC_MAX = 15

# --- Ed25519 (RFC 8032, 5.1 and 6) ---

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def add(a, b):
    """Points are (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z."""
    u = (a[1] - a[0]) * (b[1] - b[0]) % P
    v = (a[1] + a[0]) * (b[1] + b[0]) % P
    c = 2 * a[3] * b[3] * D % P
    d = 2 * a[2] * b[2] % P
    e, f, g, h = v - u, d - c, d + c, v + u
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def times(factor, point):
    result = (0, 1, 1, 0)
    while factor > 0:
        if factor & 1:
            result = add(result, point)
        point = add(point, point)
        factor >>= 1
    return result


def base_point():
    y = 4 * pow(5, P - 2, P) % P
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P != 0:
        x = x * pow(2, (P - 1) // 4, P) % P
    if x & 1:
        x = P - x
    return (x, y, 1, x * y % P)


BASE = base_point()


def encode(point):
    inverse = pow(point[2], P - 2, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | ((x & 1) << 255)).to_bytes(32, "little")


def number(data):
    return int.from_bytes(data, "little")


def sign(seed, message):
    digest = hashlib.sha512(seed).digest()
    secret = (number(digest[:32]) & ((1 << 254) - 8)) | (1 << 254)
    public = encode(times(secret, BASE))
    r = number(hashlib.sha512(digest[32:] + message).digest()) % ORDER
    commitment = encode(times(r, BASE))
    h = number(hashlib.sha512(commitment + public + message).digest()) % ORDER
    return commitment + ((r + h * secret) % ORDER).to_bytes(32, "little")


# --- the protocol ---


def canonical_json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def sha256_hex(value):
    return hashlib.sha256(canonical_json(value)).hexdigest()


def read_seed(file):
    if os.stat(file).st_mode & 0o077:
        sys.exit(f"Others can read {file}: chmod 600 {file}")
    with open(file, encoding="utf-8") as opened:
        seed = json.load(opened)["d"]
    return base64.urlsafe_b64decode(seed + "=" * (-len(seed) % 4))


def post(path, body, headers=None):
    data = json.dumps(body, ensure_ascii=False).encode("utf-8")
    if len(data) > BODY_BYTES_MAX:
        return 413, {"detail": f"The body has {len(data)} bytes, at most {BODY_BYTES_MAX} are taken."}
    request = urllib.request.Request(
        SERVER + path,
        data=data,
        headers={"Content-Type": "application/json", "X-API-Key": API_KEY, **(headers or {})},
    )
    try:
        with urllib.request.urlopen(request, timeout=WAIT_SEC + 30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"{}")


def work(job, cancelled):
    """What this worker does: put your own here. Long work looks at cancelled.is_set() now and then, and stops."""
    return {"answer": str(job["prompt"]).upper(), "words": len(str(job["prompt"]).split())}


def keep_alive(assignment_id, done, cancelled):
    while not done.wait(HEARTBEAT_SEC):
        try:
            _, answer = post("/workers/heartbeat", {"worker_id": WORKER_ID})
        except OSError:
            continue  # the next one may get through
        if assignment_id in answer.get("cancelled", []):
            cancelled.set()
            return


def handle(seed, assigned):
    assignment_id = assigned["assignment_id"]
    done, cancelled = threading.Event(), threading.Event()
    threading.Thread(target=keep_alive, args=(assignment_id, done, cancelled), daemon=True).start()
    try:
        status, answer = submit(seed, assigned, result_of(assigned["job"], cancelled), cancelled)
        if status in (400, 413, 422):  # a limit of the server: it would refuse the same result again
            refused = {"error_message": f"Result refused. {status}: {answer.get('detail')}"}
            status, answer = submit(seed, assigned, refused, cancelled)
    finally:
        done.set()
    print(assignment_id, status, answer.get("status") or answer.get("detail"), flush=True)


def result_of(job, cancelled):
    try:
        output = work(job, cancelled)
        return {"output": output, "output_hash": sha256_hex(output)}
    except Exception as problem:  # the server is told, and the job has failed
        return {"error_message": f"{type(problem).__name__}: {problem}".encode("utf-8", "replace").decode("utf-8")}


def submit(seed, assigned, result, cancelled):
    """Tries again until the server has taken the result or refused it, or the job is cancelled. A try whose answer was lost
    may have been taken: only the answer to another one tells, so that a cancellation does not end the tries then."""
    signed = signed_result(seed, assigned, result)
    is_unknown = False
    for tries in range(1, SUBMIT_TRIES_MAX + 1):
        if cancelled.is_set() and not is_unknown:
            return 0, {"detail": "cancelled"}
        try:
            status, answer = post("/jobs/submit", signed)
        except OSError as problem:
            status, answer = 503, {"detail": str(problem)}
        if status == 409 and tries > 1 and answer.get("detail") == "Assignment already submitted":
            return 200, {"status": "recorded"}  # the answer to an earlier try was lost
        is_conflict = answer.get("detail") == "Concurrent submission conflict"
        if status == 409 and not is_conflict and cancelled.is_set():
            return 0, {"detail": "cancelled"}
        is_lost = status == 408 or status >= 500
        if not (is_lost or is_conflict or status == 429):
            break
        is_unknown = is_unknown or is_lost
        pause_sec = min(RETRY_SEC_MAX, 0.25 * 2**tries)
        if is_unknown:
            time.sleep(pause_sec)
        else:
            cancelled.wait(pause_sec)
    return status, answer


def signed_result(seed, assigned, result):
    signed = {
        "assignment_id": assigned["assignment_id"],
        "nonce": assigned["nonce"],
        "output_hash": result.get("output_hash"),
    }
    signature = base64.urlsafe_b64encode(sign(seed, canonical_json(signed))).decode().rstrip("=")
    return {"worker_id": WORKER_ID, "signature": signature, **result, **signed}


def main():
    seed = read_seed(os.environ.get("WORKER_KEY", "worker.key"))
    stopping = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stopping.set())
    print(f"worker {WORKER_ID} polls {SERVER}", flush=True)
    while not stopping.is_set():
        try:
            status, answer = post("/jobs/poll", {"worker_id": WORKER_ID}, {"Prefer": f"wait={WAIT_SEC}"})
            if status == 200:
                handle(seed, answer)
            elif status != 404 or answer.get("detail") != "No assignment available":
                print(status, answer.get("detail"), file=sys.stderr, flush=True)
                time.sleep(1)
        except OSError as problem:
            print(problem, file=sys.stderr, flush=True)
            time.sleep(1)


if __name__ == "__main__":
    main()
