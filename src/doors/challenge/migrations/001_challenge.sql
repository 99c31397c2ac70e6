-- Both sides of the challenge protocol. Solver: what was asked of us. Challenger: what we asked, with the answers that
-- never leave it, and what came back.

-- A nonce is burnt by the transaction that answers its request. Unique per side: the key id is not signed.
create table challenge_nonces (
  side    text not null constraint challenge_nonces_side_known check (side in ('solver', 'challenger')),
  nonce   text not null,
  seen_at timestamptz not null default clock_timestamp(),
  primary key (side, nonce)
);
create index challenge_nonces_by_age on challenge_nonces (seen_at);

create table solve_requests (
  challenge_id text primary key,
  -- The newest job: a replay takes the place of the one that died.
  job_id       uuid not null constraint solve_requests_one_per_job unique,
  callback_url text not null,
  status       text not null default 'pending'
               constraint solve_requests_status_known check (status in ('pending', 'success', 'failed')),
  answer       text,
  error_code   text,
  accepted_at  timestamptz not null default clock_timestamp(),
  finished_at  timestamptz,
  -- The job of another door that solves the problem, while this one waits for its end.
  waits_for    uuid,
  -- When the Challenger last asked again for a callback that it had lost.
  resent_at    timestamptz,
  constraint solve_requests_finished_at_when_ended check ((status = 'pending') = (finished_at is null))
);

create table challenges (
  challenge_id    text primary key,
  seq             bigint generated always as identity constraint challenges_seq_once unique,
  account_id      bigint not null,
  problem         json not null,
  output_spec     json,
  constraints     json,
  validation_rule json not null,
  answer          text not null,
  state           text not null default 'created'
                  constraint challenges_state_known check (state in ('created', 'sending', 'accepted', 'send_failed', 'completed')),
  solver_job_id   text,
  idempotency_key text,
  body_hash       text not null,
  -- Size of its JSON: a page of challenges is bounded by their sum.
  bytes           integer not null,
  created_at      timestamptz not null default clock_timestamp(),
  sent_at         timestamptz,
  completed_at    timestamptz,
  constraint challenges_idempotency_key_used_once unique (account_id, idempotency_key)
);
create index challenges_by_account on challenges (account_id, seq);

create table challenge_results (
  result_id     bigint generated always as identity primary key,
  challenge_id  text not null references challenges,
  request_id    text not null,
  solver_job_id text,
  status        text not null,
  answer        text,
  error_code    text,
  error_message text,
  -- Null: there was no answer to judge.
  is_correct    boolean,
  rule          text not null,
  metadata      json,
  -- The first one. What comes later is kept beside it and changes nothing.
  is_final      boolean not null,
  body_hash     text not null,
  -- Size of the callback's body.
  bytes         integer not null,
  created_at    timestamptz not null default clock_timestamp(),
  constraint challenge_results_one_per_request unique (challenge_id, request_id)
);
create unique index challenge_results_one_final on challenge_results (challenge_id) where is_final;

-- Every callback that was signed, whatever came of it.
create table challenge_webhooks (
  webhook_id   bigint generated always as identity primary key,
  challenge_id text not null,
  request_id   text not null,
  headers      json not null,
  body_hash    text not null,
  status_code  integer not null,
  outcome      text not null constraint challenge_webhooks_outcome_known
               check (outcome in ('recorded', 'duplicate', 'conflict', 'refused')),
  created_at   timestamptz not null default clock_timestamp()
);
create index challenge_webhooks_by_challenge on challenge_webhooks (challenge_id, webhook_id);
