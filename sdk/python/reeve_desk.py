"""The program's side of Reeve's desk: look for a session, ask a person for one, wait for it and go on with it.

Only the standard library is needed: copy this file into your project.

    import reeve_desk as desk

    desk.configure(url="http://127.0.0.1:8080", api_key="...")   # or REEVE_URL and REEVE_API_KEY

    session = await desk.check_cached_session(url)
    if session is None:
        session = await desk.create_task_and_wait(url, challenge_type="cloudflare", priority=7)
    if session is not None:
        headers = desk.inject_session_cookies({}, session)

Every `redis_client` argument is accepted and ignored: sessions and solutions come over HTTP.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

__all__ = [
    "CaptchaSession",
    "DeskError",
    "check_cached_session",
    "configure",
    "create_captcha_task",
    "create_task_and_wait",
    "execute_with_captcha_handling",
    "inject_session_cookies",
    "poll_for_session",
    "wait_for_solution",
]

API = "/api/v1/captcha"
WAIT_SECONDS_MAX = 50  # of one request; the server allows no more
LOOK_AGAIN_SECONDS = 5
RETRY_SECONDS = 1
WAIT_TIMEOUT_SECONDS = 900  # until the server says what it is set to
REQUEST_TIMEOUT_SECONDS = 30
ENDED = ("solved", "unsolvable", "expired")


class DeskError(Exception):
    """The server refused a request."""

    def __init__(self, status: int, detail: Any) -> None:
        super().__init__(f"{status}: {detail}")
        self.status = status
        self.detail = detail


@dataclass
class _Settings:
    url: str = field(default_factory=lambda: os.environ.get("REEVE_URL", "http://127.0.0.1:8080"))
    api_key: str | None = field(default_factory=lambda: os.environ.get("REEVE_API_KEY"))
    token: str | None = field(default_factory=lambda: os.environ.get("REEVE_TOKEN"))


_settings = _Settings()


def configure(url: str | None = None, api_key: str | None = None, token: str | None = None) -> None:
    """The server, and an API key or a token of an account with the role SCRAPER."""
    if url is not None:
        _settings.url = url
    if api_key is not None:
        _settings.api_key = api_key
    if token is not None:
        _settings.token = token


@dataclass
class CaptchaSession:
    """What a solution is cached as for its domain: valid with the proxy and user agent that it was made with."""

    domain: str
    cookies: dict[str, str]
    user_agent: str | None
    proxy_url: str | None
    created_at: datetime
    expires_at: datetime
    task_uuid: str | None = None
    #: `{type, payload, user_agent}` where the task was waited for: a token or an answer among others.
    solution: dict[str, Any] | None = None

    def is_valid(self) -> bool:
        return self.expires_at > datetime.now(timezone.utc)

    def get_cf_clearance(self) -> str | None:
        return self.cookies.get("cf_clearance")

    def to_dict(self) -> dict[str, Any]:
        return {
            "domain": self.domain,
            "cookies": dict(self.cookies),
            "user_agent": self.user_agent,
            "proxy_url": self.proxy_url,
            "created_at": self.created_at.isoformat(),
            "expires_at": self.expires_at.isoformat(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CaptchaSession:
        """Cookies by name, or as the list that the server sends."""
        cookies = data.get("cookies") or {}
        if isinstance(cookies, list):
            cookies = {cookie["name"]: cookie["value"] for cookie in cookies}
        return cls(
            domain=data["domain"],
            cookies=dict(cookies),
            user_agent=data.get("user_agent"),
            proxy_url=data.get("proxy_url"),
            created_at=_moment(data["created_at"]),
            expires_at=_moment(data["expires_at"]),
            task_uuid=data.get("task_uuid"),
        )


async def check_cached_session(url_or_domain: str, redis_client: Any = None) -> CaptchaSession | None:
    """The cached session of a page's domain, if there is one."""
    found = await _request("GET", _session_path(url_or_domain))
    return _valid_session(found)


async def create_captcha_task(
    url: str,
    challenge_type: str | None = None,
    error_message: str | None = None,
    request_id: str | None = None,
    priority: int | None = None,
    proxy_url: str | None = None,
    user_agent: str | None = None,
    metadata: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any] | None:
    """The task. The same open work of the same program is the same task. None: the domain may not be automated."""
    body = {
        "url": url,
        "challenge_type": challenge_type,
        "error_message": error_message,
        "request_id": request_id,
        "priority": priority,
        "proxy_url": proxy_url,
        "user_agent": user_agent,
        "metadata": metadata,
        **more,
    }
    try:
        return await _request("POST", f"{API}/tasks", {key: value for key, value in body.items() if value is not None})
    except DeskError as error:
        if error.status == 403:
            return None
        raise


async def wait_for_solution(
    domain: str, redis_client: Any = None, timeout: float | None = None
) -> CaptchaSession | None:
    """A session of the domain, whoever asked for it. None: the time is up."""
    deadline = _Deadline(timeout)
    while True:
        wait = max(0, min(LOOK_AGAIN_SECONDS, deadline.left()))
        found = await _patiently(deadline, "GET", _session_path(domain), wait=wait)
        deadline.set_default(found.get("wait_timeout"))
        session = _valid_session(found)
        if session is not None or deadline.is_over():
            return session


async def create_task_and_wait(
    url: str,
    redis_client: Any = None,
    challenge_type: str | None = None,
    error_message: str | None = None,
    priority: int | None = None,
    timeout: float | None = None,
    **more: Any,
) -> CaptchaSession | None:
    """Creates a task and waits for its end. None: the time is up, or the task was not solved."""
    task = await create_captcha_task(
        url, challenge_type=challenge_type, error_message=error_message, priority=priority, **more
    )
    if task is None:
        return None
    deadline = _Deadline(timeout)
    deadline.set_default(task.get("wait_timeout"))
    while task["status"] not in ENDED and not deadline.is_over():
        wait = max(0, min(WAIT_SECONDS_MAX, deadline.left()))
        task = await _patiently(deadline, "GET", f"{API}/tasks/{task['uuid']}", wait=wait)
    return _session_of_task(task) if task["status"] == "solved" else None


def inject_session_cookies(headers: dict[str, str], session: CaptchaSession) -> dict[str, str]:
    """The headers with the session's cookies and user agent. Header names are compared in any case."""
    named = {name.lower(): name for name in headers}
    cookie_name = named.get("cookie", "Cookie")
    agent_name = named.get("user-agent", "User-Agent")
    cookies = dict(
        part.strip().partition("=")[::2] for part in headers.get(cookie_name, "").split(";") if part.strip() != ""
    )
    cookies.update(session.cookies)
    injected = dict(headers)
    if cookies:
        injected[cookie_name] = "; ".join(f"{name}={value}" for name, value in cookies.items())
    if session.user_agent is not None:
        injected[agent_name] = session.user_agent
    return injected


async def poll_for_session(
    domain: str, timeout: float | None = None, poll_interval: float = LOOK_AGAIN_SECONDS
) -> CaptchaSession | None:
    """Like wait_for_solution, for programs behind proxies that end requests which wait."""
    deadline = _Deadline(timeout)
    while True:
        found = await _patiently(deadline, "GET", _session_path(domain))
        deadline.set_default(found.get("wait_timeout"))
        session = _valid_session(found)
        if session is not None or deadline.is_over():
            return session
        await asyncio.sleep(min(poll_interval, max(0.01, deadline.left())))


async def execute_with_captcha_handling(
    orchestrator: Any,
    url: str,
    redis_client: Any = None,
    max_retries: int = 2,
    headers: dict[str, str] | None = None,
    timeout: float | None = None,
    **more: Any,
) -> Any:
    """Runs `orchestrator.execute(url, headers=…)` with the cached session; on `captcha_required` asks for a new one."""
    plain = dict(headers or {})
    session = await check_cached_session(url)
    for retry in range(max_retries + 1):
        sent = plain if session is None else inject_session_cookies(plain, session)
        result = orchestrator.execute(url, headers=sent)
        if inspect.isawaitable(result):
            result = await result
        if _field(result, "error_type") != "captcha_required" or retry == max_retries:
            return result
        if session is not None and session.task_uuid is not None:
            await _report_bad(session.task_uuid)
        error = _field(result, "error")
        session = await create_task_and_wait(
            url, error_message=error if isinstance(error, str) else None, timeout=timeout, **more
        )
        if session is None:
            return result
    return result


class _Deadline:
    """When a wait ends. Without a time of the caller's own it follows what the server answers."""

    def __init__(self, timeout: float | None) -> None:
        self._started = time.monotonic()
        self._is_default = timeout is None
        self._timeout = WAIT_TIMEOUT_SECONDS if timeout is None else timeout

    def set_default(self, seconds: float | None) -> None:
        if self._is_default and seconds is not None:
            self._timeout = seconds

    def left(self) -> float:
        return self._started + self._timeout - time.monotonic()

    def is_over(self) -> bool:
        return self.left() <= 0


async def _patiently(deadline: _Deadline, method: str, path: str, wait: float = 0) -> dict[str, Any]:
    """A server that restarts, or a connection that breaks, is asked again until the time is up."""
    while True:
        try:
            return await _request(method, path, wait=wait)
        except (DeskError, OSError) as error:
            is_passing = not isinstance(error, DeskError) or error.status == 429 or error.status >= 500
            if not is_passing or deadline.left() <= RETRY_SECONDS:
                raise
            await asyncio.sleep(RETRY_SECONDS)


async def _request(method: str, path: str, body: Any = None, wait: float = 0) -> dict[str, Any]:
    return await asyncio.to_thread(_send, method, path, body, int(wait))


def _send(method: str, path: str, body: Any, wait: int) -> dict[str, Any]:
    headers = {"accept": "application/json"}
    if _settings.token is not None:
        headers["authorization"] = f"Bearer {_settings.token}"
    elif _settings.api_key is not None:
        headers["x-api-key"] = _settings.api_key
    if wait > 0:
        headers["prefer"] = f"wait={wait}"
    data = None
    if body is not None:
        data = json.dumps(body).encode()
        headers["content-type"] = "application/json"
    request = urllib.request.Request(_settings.url.rstrip("/") + path, data=data, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=wait + REQUEST_TIMEOUT_SECONDS) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        text = error.read().decode(errors="replace")
        try:
            detail = json.loads(text).get("detail", text)
        except (ValueError, AttributeError):
            detail = text
        raise DeskError(error.code, detail) from None


async def _report_bad(uuid: str) -> None:
    try:
        await _request("POST", f"{API}/tasks/{uuid}/report-bad", {"reason": "captcha_required"})
    except DeskError:
        pass  # the session may be gone already


def _session_path(url_or_domain: str) -> str:
    return f"{API}/sessions/{urllib.parse.quote(_domain_of(url_or_domain), safe='')}"


def _domain_of(url_or_domain: str) -> str:
    is_url = url_or_domain.lower().startswith(("http://", "https://"))
    return urllib.parse.urlsplit(url_or_domain).netloc if is_url else url_or_domain


def _valid_session(found: dict[str, Any]) -> CaptchaSession | None:
    if found.get("session") is None:
        return None
    session = CaptchaSession.from_dict(found["session"])
    return session if session.is_valid() else None


def _session_of_task(task: dict[str, Any]) -> CaptchaSession:
    """From the task's own solution, which is there even if the cached session is not."""
    cookies = {cookie["name"]: cookie["value"] for cookie in task.get("cookies_json") or []}
    expires = task.get("solver_expires_at")
    now = datetime.now(timezone.utc).timestamp()
    return CaptchaSession(
        domain=task["domain"],
        cookies=cookies,
        user_agent=task.get("user_agent"),
        proxy_url=task.get("proxy_url"),
        created_at=_moment(task["updated_at"]),
        expires_at=_moment(expires)
        if expires is not None
        else datetime.fromtimestamp(now + WAIT_TIMEOUT_SECONDS, timezone.utc),
        task_uuid=task["uuid"],
        solution=task.get("solver_result"),
    )


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)


def _field(result: Any, name: str) -> Any:
    return result.get(name) if isinstance(result, dict) else getattr(result, name, None)
