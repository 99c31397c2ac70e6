-- The desk: work for people. The ledger knows who holds a task and who finished it; these tables keep the door's own words
-- about it, written in the ledger's transactions.

create table captcha_task (
  id                bigint generated always as identity primary key,
  uuid              uuid not null constraint captcha_task_uuid_once unique,
  -- The newest job: a replay takes the place of the one that died.
  job_id            uuid not null constraint captcha_task_one_per_job unique,
  account_id        bigint not null,
  url               text not null,
  domain            text not null,
  status            text not null default 'pending'
                    constraint captcha_task_status_known check (status in ('pending', 'in_progress', 'solving', 'failed', 'solved', 'expired', 'unsolvable')),
  challenge_type    text,
  error_message     text,
  priority          integer not null constraint captcha_task_priority_1_to_10 check (priority between 1 and 10),
  assigned_to       text,
  -- How often the same work was asked for again while it was open.
  attempts          integer not null default 0,
  -- A moment later than the lease in the ledger, never earlier: what has lapsed here has lapsed there.
  locked_until      timestamptz,
  claimed_at        timestamptz,
  -- Since when nobody has it. Null while it is held, and once it has ended.
  unclaimed_since   timestamptz default clock_timestamp(),
  -- Whose lock ran out last: a solution from them needs a new claim.
  lapsed_from       text,
  -- Sealed: type, payload, cookies, user agent, notes and the operator's address.
  solver_result     text,
  solver_expires_at timestamptz,
  last_error        text,
  preview_type      text,
  -- Which of the configured proxies, and how it may be shown: the address itself holds a password.
  proxy_id          text,
  proxy_shown       text,
  user_agent        text,
  request_id        text,
  metadata          json not null,
  -- Options of the program's own: kept and returned, never read.
  scrape_options    json,
  -- Told how the task ended.
  callback_url      text,
  form              json,
  images            json,
  -- The same creator's same work, while it is open. Null: each request is new work.
  dup_key           text,
  -- Digest of the ticket that opens its frame, until it is used.
  frame_ticket      bytea,
  overdue_at        timestamptz,
  reported_at       timestamptz,
  cleaned_at        timestamptz,
  created_at        timestamptz not null default clock_timestamp(),
  updated_at        timestamptz not null default clock_timestamp(),
  ended_at          timestamptz,

  constraint captcha_task_ended_at_when_ended
    check ((status in ('solved', 'expired', 'unsolvable')) = (ended_at is not null)),
  constraint captcha_task_lock_while_claimed check ((status in ('in_progress', 'solving')) = (locked_until is not null)),
  constraint captcha_task_unclaimed_since_while_free
    check ((status in ('pending', 'failed')) = (unclaimed_since is not null)),
  constraint captcha_task_lock_has_operator check (locked_until is null or assigned_to is not null)
);
create unique index captcha_task_one_open_duplicate on captcha_task (account_id, dup_key) where ended_at is null and dup_key is not null;
create index captcha_task_open_by_priority on captcha_task (priority desc, id) where ended_at is null;
create index captcha_task_by_lock_expiry on captcha_task (locked_until) where locked_until is not null;
create index captcha_task_by_unclaimed_since on captcha_task (unclaimed_since) where unclaimed_since is not null;
create index captcha_task_open_by_account on captcha_task (account_id) where ended_at is null;
create index captcha_task_by_account on captcha_task (account_id, id);
create index captcha_task_by_priority on captcha_task (priority desc, id);
create index captcha_task_by_status on captcha_task (status, priority desc, id);
create index captcha_task_by_domain on captcha_task (domain, id);
create index captcha_task_with_kept_values on captcha_task (ended_at)
  where ended_at is not null and (solver_result is not null or preview_type is not null or images is not null);

-- What a solution leaves behind for its domain. A session belongs to the creator of its task, and to the proxy and the user
-- agent it was made with.
create table captcha_session (
  session_id  bigint generated always as identity primary key,
  account_id  bigint not null,
  domain      text not null,
  variant     text not null,
  uuid        uuid not null,
  -- Sealed: the cookies, or the object that was given.
  value       text not null,
  user_agent  text,
  proxy_id    text,
  proxy_shown text,
  created_at  timestamptz not null default clock_timestamp(),
  expires_at  timestamptz not null,
  constraint captcha_session_one_per_variant unique (account_id, domain, variant)
);
create index captcha_session_by_expiry on captcha_session (expires_at);
create index captcha_session_by_task on captcha_session (uuid);

-- What the proxied page wanted the browser to keep. It is proposed to the operator, and goes with the task.
create table captcha_cookie (
  uuid        uuid not null references captcha_task (uuid) on delete cascade,
  domain      text not null,
  path        text not null,
  name        text not null,
  host_only   boolean not null,
  -- Sealed.
  value       text not null,
  secure      boolean not null,
  http_only   boolean not null,
  same_site   text,
  expires_at  timestamptz,
  captured_at timestamptz not null default clock_timestamp(),
  primary key (uuid, domain, path, name)
);

-- Which domains the owner of this deployment is authorised to automate. Who said so, why and when.
create table captcha_domain (
  domain   text primary key,
  reason   text not null,
  added_by text not null,
  added_at timestamptz not null default clock_timestamp()
);

-- Who saw, claimed, revealed, solved, stole what, and when. Never a secret.
create table captcha_audit (
  audit_id  bigint generated always as identity primary key,
  at        timestamptz not null default clock_timestamp(),
  action    text not null,
  actor     text not null,
  uuid      uuid,
  -- The task's job at that time.
  job_id    uuid,
  domain    text,
  -- Whose work it was, where that is not the actor: the operator of a solution that was reported.
  operator  text,
  detail    text,
  -- How long the task had waited for somebody, and how long it had been held.
  waited_ms bigint,
  held_ms   bigint
);
create index captcha_audit_by_task on captcha_audit (uuid, audit_id);
create index captcha_audit_by_time on captcha_audit (at);
create index captcha_audit_by_actor on captcha_audit (actor, action, audit_id);
-- A task ends once per job, whoever ends it and however often its end is told.
create unique index captcha_audit_one_end_per_job on captcha_audit (job_id)
  where action in ('solved', 'unsolvable', 'expired', 'cancelled');
create unique index captcha_audit_seen_once on captcha_audit (uuid, actor) where action = 'seen';

-- The keys that values here may be sealed with, by name. A server that does not have them would not be able to open them.
create table captcha_key (
  key_id        text primary key,
  first_used_at timestamptz not null default clock_timestamp()
);
