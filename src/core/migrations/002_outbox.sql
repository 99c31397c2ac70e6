-- What must leave the database because something in it changed, written in the transaction that changed it.
create table outbox_events (
  outbox_id       bigint generated always as identity primary key,
  -- No foreign key: its check would lock every job's row once more on the hottest path.
  job_id          uuid,
  topic           text not null,
  payload         json not null,
  status          text not null default 'pending' check (status in ('pending', 'delivered', 'dead')),
  -- Also the fence: whoever settles a row names the attempt at which it claimed it.
  attempts          integer not null default 0,
  -- Attempts before the last replay. They do not count towards the limit.
  attempts_forgiven integer not null default 0,
  next_attempt_at timestamptz not null default clock_timestamp(),
  last_error      text,
  dispatched_at   timestamptz,
  stream_entry_id text,
  created_at      timestamptz not null default clock_timestamp(),
  unique (job_id, topic)
) with (autovacuum_vacuum_scale_factor = 0.02);
create index outbox_events_due on outbox_events (topic, next_attempt_at) where status = 'pending';
create index outbox_events_dead on outbox_events (topic, outbox_id) where status = 'dead';

-- Every attempt to send a signed request, whatever came of it. The request is a row of the outbox; it may be gone.
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
  duration_ms         integer not null,
  created_at          timestamptz not null default clock_timestamp()
);
create index delivery_attempts_of_subject on delivery_attempts (topic, subject, delivery_attempt_id);

-- The log that subscribers replay. Ids rise in the order in which rows become visible: the one dispatcher that copies
-- outbox rows here does so under a lock, and outbox_id makes a repeated copy change nothing.
create table events (
  event_id   bigint generated always as identity primary key,
  outbox_id  bigint not null unique,
  channel    text not null,
  type       text not null,
  payload    json not null,
  created_at timestamptz not null default clock_timestamp()
);
create index events_channel on events (channel, event_id);
create index events_age on events (created_at);
