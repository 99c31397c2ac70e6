"""A scraper that was written for the original helpers: only its import differs. Each command prints one line of JSON."""

import asyncio
import json
import sys
from types import SimpleNamespace

from reeve_desk import (
    CaptchaSession,
    check_cached_session,
    create_captcha_task,
    create_task_and_wait,
    execute_with_captcha_handling,
    inject_session_cookies,
    poll_for_session,
    wait_for_solution,
)

URL = "https://shop.example/cart"
REDIS = object()  # accepted and not needed


def say(value):
    print(json.dumps(value), flush=True)


class Orchestrator:
    """The site wants a cookie that only a person gets."""

    async def execute(self, url, headers):
        if "cf_clearance=good" in headers.get("Cookie", ""):
            return SimpleNamespace(error_type=None, error=None, page="the page")
        return SimpleNamespace(error_type="captcha_required", error="403 Just a moment", page=None)


async def main(command):
    if command == "check":
        session = await check_cached_session(URL, REDIS)
        say(None if session is None else session.to_dict())
    elif command == "create":
        say(await create_captcha_task(URL, "cloudflare", "403", priority=7))
    elif command == "wait":
        session = await wait_for_solution("shop.example", REDIS, timeout=60)
        say({"clearance": session.get_cf_clearance(), "valid": session.is_valid()})
    elif command == "poll":
        session = await poll_for_session("shop.example", timeout=60, poll_interval=0.2)
        say({"clearance": session.get_cf_clearance()})
    elif command == "late":
        say(await wait_for_solution("nobody.example", REDIS, timeout=0.2))
    elif command == "create_and_wait":
        session = await create_task_and_wait(
            url=URL, redis_client=REDIS, challenge_type="cloudflare", error_message="403", priority=7, timeout=60
        )
        again = CaptchaSession.from_dict(session.to_dict())
        headers = inject_session_cookies({"cookie": "a=0; b=2"}, again)
        say({"headers": headers, "solution": session.solution})
    elif command == "execute":
        result = await execute_with_captcha_handling(
            orchestrator=Orchestrator(), url=URL, redis_client=REDIS, max_retries=2, timeout=60
        )
        say({"error_type": result.error_type, "page": result.page})
    elif command == "refused":
        say(await create_captcha_task("https://not-listed.org/"))


asyncio.run(main(sys.argv[1]))
