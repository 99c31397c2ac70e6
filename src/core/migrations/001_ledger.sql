-- The ledger: one row per job, and one row per attempt that ended without ending the job.
--
-- Which indexes there are decides how fast it is. Acquiring and renewing must touch no index (a HOT update): so no index
-- has state, attempt, owner or lease in its columns or its condition, and pages keep room for the new versions. The one
-- index that hands read holds the live rows, pending and processing, in their order; finished jobs leave it and lie still.

create table jobs (
  job_id       uuid primary key,
  kind         text not null,
  state        text not null default 'pending' check (state in ('pending', 'processing', 'done', 'dead')),
  priority     integer not null,
  -- Microseconds since 1970 at which it became ready, less what its priority is worth: one order for priority and age.
  rank         bigint not null,
  -- Not before this moment. Null: ready, and in the index of ready jobs.
  due_at       timestamptz,
  -- json, not jsonb: a payload comes back as it was sent, number lexemes and key order included.
  payload      json not null,
  result       json,
  -- Why it is dead.
  reason       text,
  attempt_id   integer not null default 0,
  -- Null: never buried for its number of attempts.
  max_attempts integer check (max_attempts > 0),
  -- Attempts given back unharmed. They do not count towards max_attempts.
  releases     integer not null default 0,
  lease_owner  text,
  lease_until  timestamptz,
  account_id   bigint,
  trace_id     text,
  replay_of    uuid references jobs,
  submitted_at timestamptz not null default clock_timestamp(),
  started_at   timestamptz,
  finished_at  timestamptz,

  check ((state = 'processing') = (lease_until is not null)),
  check (state = 'pending' or due_at is null),
  check (state <> 'processing' or lease_owner is not null),
  check ((state in ('done', 'dead')) = (finished_at is not null)),
  check ((state = 'dead') = (reason is not null)),
  check (state = 'done' or result is null)
) with (
  fillfactor = 60,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.1
);

create index jobs_live on jobs (kind, rank, job_id) where finished_at is null and due_at is null;
create index jobs_delayed on jobs (due_at) where due_at is not null;
create index jobs_dead on jobs (kind, job_id) where reason is not null;
-- A dead job is replayed once; asking again names the same new job.
create unique index jobs_replay_of on jobs (replay_of) where replay_of is not null;

create table attempts (
  job_id     uuid not null references jobs on delete cascade,
  attempt_id integer not null,
  owner      text not null,
  started_at timestamptz not null,
  ended_at   timestamptz not null default clock_timestamp(),
  outcome    text not null check (outcome in ('failed', 'released', 'lease_expired')),
  error      text,
  primary key (job_id, attempt_id)
);

-- The answer to a repeated submit. Rows are kept for a day at least (repair deletes them).
create table idempotency_keys (
  scope      text not null,
  key        text not null,
  body_hash  text not null,
  job_id     uuid not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (scope, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);
