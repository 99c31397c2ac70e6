-- The core's tables: the ledger, the outbox with its deliveries and events, accounts. Foreign keys follow one rule, in every
-- owner's migration (docs/how-it-works.md, "The schema"):
--
--   - What is part of another row and meaningless without it references that row and is deleted with it.
--   - What records that something happened (a job, a submission, an audit line) keeps the other row's bare id and outlives it.
--   - Nothing outside this file references jobs, and no hot table references anything: the check would lock the other row
--     once more on every transition. The transaction that writes such a row has locked or read the other one itself.
--   - No owner references a table of another, but for accounts; no owner puts a trigger on another's table.

-- The ledger: one row per job, and one row per attempt that ended without ending the job.
--
-- Acquiring and renewing must touch no index (a HOT update), so no index has state, attempt, owner or lease in its columns
-- or its condition, and pages keep room for the new versions. Executors read one index: the live rows, pending and
-- processing, in their order. A finished job leaves it and is not updated again.

-- An enum: PostgreSQL evaluates a table's checks for every statement, and comparing texts was the longest part of it
-- (measured: an eighth of the time of a statement for 25 jobs).
create type job_state as enum ('pending', 'processing', 'done', 'dead');

create table jobs (
  job_id       uuid primary key,
  kind         text not null,
  state        job_state not null default 'pending',
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
  max_attempts integer constraint jobs_max_attempts_positive check (max_attempts > 0),
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

  constraint jobs_lease_while_processing check ((state = 'processing') = (lease_until is not null)),
  constraint jobs_due_while_pending check (state = 'pending' or due_at is null),
  constraint jobs_owner_while_processing check (state <> 'processing' or lease_owner is not null),
  constraint jobs_finished_at_when_ended check ((state in ('done', 'dead')) = (finished_at is not null)),
  constraint jobs_reason_when_dead check ((state = 'dead') = (reason is not null)),
  constraint jobs_result_when_done check (state = 'done' or result is null)
) with (
  -- Acquiring writes a second version of every row that submit wrote. With half of each page empty it finds room beside the
  -- first and no index changes; with less room every third row moved to another page (a third more time to acquire).
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_analyze_scale_factor = 0.1
);

-- For SQL readers, and for views of the doors. The owner of a lease is shown only while it holds the job.
create view ledger_jobs as
  select job_id, kind, state, attempt_id, case when state = 'processing' then lease_owner end as lease_owner, lease_until,
         due_at, result, reason, account_id, submitted_at as created_at,
         coalesce(finished_at, started_at, submitted_at) as updated_at
    from jobs;

create index jobs_live_by_rank on jobs (kind, rank, job_id) where finished_at is null and due_at is null;
create index jobs_delayed_by_due_at on jobs (due_at) where due_at is not null;
create index jobs_dead_by_kind on jobs (kind, job_id) where reason is not null;
-- A dead job is replayed once; asking again names the same new job.
create unique index jobs_one_replay_each on jobs (replay_of) where replay_of is not null;

create table attempts (
  job_id     uuid not null references jobs on delete cascade,
  attempt_id integer not null,
  owner      text not null,
  started_at timestamptz not null,
  ended_at   timestamptz not null default clock_timestamp(),
  outcome    text not null constraint attempts_outcome_known check (outcome in ('failed', 'released', 'lease_expired')),
  error      text,
  primary key (job_id, attempt_id)
);

-- The answer to a repeated submit. Rows are kept for a day at least; a loop deletes them.
create table idempotency_keys (
  scope      text not null,
  key        text not null,
  body_hash  text not null,
  job_id     uuid not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (scope, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

-- The outbox: what must leave the database because something in it changed, written in the transaction that changed it.
create table outbox_events (
  outbox_id       bigint generated always as identity primary key,
  -- No foreign key: its check would lock every job's row once more on the hottest path.
  job_id          uuid,
  topic           text not null,
  payload         json not null,
  status          text not null default 'pending'
                  constraint outbox_events_status_known check (status in ('pending', 'delivered', 'dead')),
  -- Also the fence: whoever settles a row names the attempt at which it claimed it.
  attempts          integer not null default 0,
  -- Attempts before the last replay. They do not count towards the limit.
  attempts_forgiven integer not null default 0,
  next_attempt_at timestamptz not null default clock_timestamp(),
  last_error      text,
  dispatched_at   timestamptz,
  stream_entry_id text,
  created_at      timestamptz not null default clock_timestamp(),
  constraint outbox_events_one_per_job_and_topic unique (job_id, topic)
) with (autovacuum_vacuum_scale_factor = 0.02);
create index outbox_events_due_by_topic on outbox_events (topic, next_attempt_at) where status = 'pending';
create index outbox_events_dead_by_topic on outbox_events (topic, outbox_id) where status = 'dead';

-- One row per job that was announced to the Redis feed, with a payload from which its task can be rebuilt. The payload is
-- stored once, with the job; a row of the outbox that announces many jobs is shown as many.
create view outbox_tasks as
select o.outbox_id, j.job_id, o.status, o.attempts, o.next_attempt_at, o.last_error, o.dispatched_at,
       nullif(case when o.topic = 'feed' then o.stream_entry_id
                   else split_part(o.stream_entry_id, ',', announced.position::integer) end, '') as stream_entry_id,
       o.created_at,
       json_build_object('job_id', j.job_id, 'kind', j.kind, 'priority', j.priority, 'account_id', j.account_id,
                         'trace_id', j.trace_id, 'payload', j.payload) as payload
  from outbox_events o
 cross join lateral (
       select o.job_id as job_id, 1 as position where o.topic = 'feed'
        union all
       select id::uuid, position from json_array_elements_text(case when o.topic = 'feed_batch' then o.payload else '[]' end)
                                      with ordinality as batch (id, position)
      ) as announced
  join jobs j on j.job_id = announced.job_id
 where o.topic in ('feed', 'feed_batch');

-- Every attempt to send a signed request. The request is a row of the outbox, which may have been pruned.
create table delivery_attempts (
  delivery_attempt_id bigint generated always as identity primary key,
  outbox_id           bigint not null,
  topic               text not null,
  -- What the request is about, in the door's own words: a challenge, a job.
  subject             text not null,
  request_id          text not null,
  attempt             integer not null,
  url                 text not null,
  status_code         integer,
  error               text,
  -- Of a failed connection: the code of the system or of TLS, such as ECONNREFUSED.
  cause               text,
  -- The error code in the answer's body.
  peer_code           text,
  duration_ms         integer not null,
  created_at          timestamptz not null default clock_timestamp()
);
create index delivery_attempts_by_outbox_id on delivery_attempts (outbox_id, delivery_attempt_id);
create index delivery_attempts_by_subject on delivery_attempts (topic, subject, delivery_attempt_id);

-- The log that subscribers replay. Ids rise in the order in which rows become visible: the one dispatcher that copies
-- outbox rows here does so under a lock, and outbox_id makes a repeated copy change nothing.
create table events (
  event_id   bigint generated always as identity primary key,
  outbox_id  bigint not null constraint events_copied_once unique,
  channel    text not null,
  type       text not null,
  payload    json not null,
  created_at timestamptz not null default clock_timestamp()
);
create index events_by_channel on events (channel, event_id);
create index events_by_age on events (created_at);

-- Identity: who may do what. Secrets are stored only as hashes: argon2id for passwords, which people choose; SHA-256 for tokens and
-- API keys, which are 256 random bits.

create table accounts (
  account_id    bigint generated always as identity primary key,
  username      text not null,
  -- The username folded by the server (NFKC, lower case): what lower() does depends on the database's locale.
  username_key  text not null constraint accounts_username_taken_once unique,
  -- Empty: none yet, and no login by password.
  password_hash text not null,
  roles         text[] not null constraint accounts_roles_known check (
    roles <@ array['PLAYER', 'CLIENT', 'WORKER_OWNER', 'OPERATOR', 'SCRAPER', 'CHALLENGER', 'ADMIN']
  ),
  is_active     boolean not null default true,
  -- A player without a password, who ends with the last token.
  is_guest      boolean not null default false,
  created_at    timestamptz not null default clock_timestamp(),
  -- The row stays for what names its id, without name, password and roles. The key is in upper case, which no name folds to.
  deleted_at    timestamptz,
  constraint accounts_closed_when_deleted check (deleted_at is null or not is_active)
);
-- Pattern operators compare bytes, whatever the database's locale: names that begin with some text are one range.
create index accounts_by_name on accounts (username_key text_pattern_ops);
create index accounts_with_admin_role on accounts (account_id) where 'ADMIN' = any (roles);

create table tokens (
  token_hash bytea primary key,
  -- Names the login to its account, which never sees the hash.
  session_id bigint generated always as identity constraint tokens_session_once unique,
  account_id bigint not null references accounts on delete cascade,
  -- Where the login came from, for the list of sessions.
  address    text not null default '',
  user_agent text not null default '',
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);
create index tokens_by_account on tokens (account_id);
create index tokens_by_expiry on tokens (expires_at);

-- The link by which an account gets a password of its own choice, once. An account has one at most.
create table password_links (
  account_id bigint primary key references accounts on delete cascade,
  link_hash  bytea not null constraint password_links_hash_once unique,
  expires_at timestamptz not null
);

create table api_keys (
  api_key_id   bigint generated always as identity primary key,
  key_hash     bytea not null constraint api_keys_hash_once unique,
  name         text not null,
  account_id   bigint not null references accounts on delete cascade,
  -- The roles that the key may use. Null: all roles of its account.
  scopes       text[],
  created_at   timestamptz not null default clock_timestamp(),
  expires_at   timestamptz,
  last_used_at timestamptz,
  revoked_at   timestamptz
);
create index api_keys_by_account on api_keys (account_id, api_key_id);

-- Sign-ins, changes of accounts and use of keys. No foreign key: the trail outlives the account.
create table audit_events (
  audit_id   bigint generated always as identity primary key,
  account_id bigint not null,
  -- Who did it. Null: the account itself, or the server.
  actor_id   bigint,
  event      text not null,
  detail     json,
  address    text not null default '',
  created_at timestamptz not null default clock_timestamp()
);
create index audit_events_by_account on audit_events (account_id, audit_id);
create index audit_events_by_age on audit_events (created_at);

-- What is stored for an account, all doors together. Written once a second by each process.
create table account_usage (
  account_id   bigint primary key references accounts on delete cascade,
  stored_bytes bigint not null
);

-- How often something happened in a window that began with its first occurrence. Unlogged: a crash of the database resets
-- the counts.
create unlogged table rate_windows (
  bucket  text primary key,
  ends_at timestamptz not null,
  count   integer not null
);
create index rate_windows_by_end on rate_windows (ends_at);

-- Finished backups, for the age of the last one.
create table backups (
  backup_id   bigint generated always as identity primary key,
  started_at  timestamptz not null,
  finished_at timestamptz not null default clock_timestamp(),
  bytes       bigint not null
);
