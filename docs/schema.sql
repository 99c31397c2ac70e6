-- The schema of a migrated database, all doors included. Written by `npm run schema`; a test compares it with the migrations.
-- What each table and column is for is in src/core/migrations and src/doors/*/migrations.

create type job_state as enum ('pending', 'processing', 'done', 'dead');
create table account_usage (
  account_id bigint not null,
  stored_bytes bigint not null,
  constraint account_usage_pkey PRIMARY KEY (account_id),
  constraint account_usage_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(account_id) ON DELETE CASCADE
);

create table accounts (
  account_id bigint not null generated always as identity,
  username text not null,
  username_key text not null,
  password_hash text not null,
  roles text[] not null,
  is_active boolean not null default true,
  is_guest boolean not null default false,
  created_at timestamp with time zone not null default clock_timestamp(),
  deleted_at timestamp with time zone,
  constraint accounts_pkey PRIMARY KEY (account_id),
  constraint accounts_username_taken_once UNIQUE (username_key),
  constraint accounts_closed_when_deleted CHECK (((deleted_at IS NULL) OR (NOT is_active))),
  constraint accounts_roles_known CHECK ((roles <@ ARRAY['PLAYER'::text, 'CLIENT'::text, 'WORKER_OWNER'::text, 'OPERATOR'::text, 'SCRAPER'::text, 'CHALLENGER'::text, 'ADMIN'::text]))
);

create table api_keys (
  api_key_id bigint not null generated always as identity,
  key_hash bytea not null,
  name text not null,
  account_id bigint not null,
  scopes text[],
  created_at timestamp with time zone not null default clock_timestamp(),
  expires_at timestamp with time zone,
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint api_keys_pkey PRIMARY KEY (api_key_id),
  constraint api_keys_hash_once UNIQUE (key_hash),
  constraint api_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(account_id) ON DELETE CASCADE
);

create table arena_nodes (
  node text not null,
  seen_at timestamp with time zone not null default clock_timestamp(),
  constraint arena_nodes_pkey PRIMARY KEY (node)
);

create table attempts (
  job_id uuid not null,
  attempt_id integer not null,
  owner text not null,
  started_at timestamp with time zone not null,
  ended_at timestamp with time zone not null default clock_timestamp(),
  outcome text not null,
  error text,
  constraint attempts_pkey PRIMARY KEY (job_id, attempt_id),
  constraint attempts_outcome_known CHECK ((outcome = ANY (ARRAY['failed'::text, 'released'::text, 'lease_expired'::text])))
);

create table audit_events (
  audit_id bigint not null generated always as identity,
  account_id bigint not null,
  actor_id bigint,
  event text not null,
  detail json,
  address text not null default ''::text,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint audit_events_pkey PRIMARY KEY (audit_id)
);

create table backups (
  backup_id bigint not null generated always as identity,
  started_at timestamp with time zone not null,
  finished_at timestamp with time zone not null default clock_timestamp(),
  bytes bigint not null,
  constraint backups_pkey PRIMARY KEY (backup_id)
);

create table captcha_audit (
  audit_id bigint not null generated always as identity,
  at timestamp with time zone not null default clock_timestamp(),
  action text not null,
  actor text not null,
  uuid uuid,
  job_id uuid,
  domain text,
  operator text,
  detail text,
  waited_ms bigint,
  held_ms bigint,
  constraint captcha_audit_pkey PRIMARY KEY (audit_id)
);

create table captcha_cookie (
  uuid uuid not null,
  domain text not null,
  path text not null,
  name text not null,
  host_only boolean not null,
  value text not null,
  secure boolean not null,
  http_only boolean not null,
  same_site text,
  expires_at timestamp with time zone,
  captured_at timestamp with time zone not null default clock_timestamp(),
  constraint captcha_cookie_pkey PRIMARY KEY (uuid, domain, path, name),
  constraint captcha_cookie_uuid_fkey FOREIGN KEY (uuid) REFERENCES captcha_task(uuid) ON DELETE CASCADE
);

create table captcha_domain (
  domain text not null,
  reason text not null,
  added_by text not null,
  added_at timestamp with time zone not null default clock_timestamp(),
  constraint captcha_domain_pkey PRIMARY KEY (domain)
);

create table captcha_key (
  key_id text not null,
  first_used_at timestamp with time zone not null default clock_timestamp(),
  constraint captcha_key_pkey PRIMARY KEY (key_id)
);

create table captcha_session (
  session_id bigint not null generated always as identity,
  account_id bigint not null,
  domain text not null,
  variant text not null,
  uuid uuid not null,
  value text not null,
  user_agent text,
  proxy_id text,
  proxy_shown text,
  created_at timestamp with time zone not null default clock_timestamp(),
  expires_at timestamp with time zone not null,
  constraint captcha_session_pkey PRIMARY KEY (session_id),
  constraint captcha_session_one_per_variant UNIQUE (account_id, domain, variant)
);

create table captcha_task (
  id bigint not null generated always as identity,
  uuid uuid not null,
  job_id uuid not null,
  account_id bigint not null,
  url text not null,
  domain text not null,
  status text not null default 'pending'::text,
  challenge_type text,
  error_message text,
  priority integer not null,
  assigned_to text,
  attempts integer not null default 0,
  locked_until timestamp with time zone,
  claimed_at timestamp with time zone,
  unclaimed_since timestamp with time zone default clock_timestamp(),
  lapsed_from text,
  solver_result text,
  solver_expires_at timestamp with time zone,
  last_error text,
  preview_type text,
  proxy_id text,
  proxy_shown text,
  user_agent text,
  request_id text,
  metadata json not null,
  scrape_options json,
  callback_url text,
  form json,
  images json,
  dup_key text,
  frame_ticket bytea,
  overdue_at timestamp with time zone,
  reported_at timestamp with time zone,
  cleaned_at timestamp with time zone,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  ended_at timestamp with time zone,
  constraint captcha_task_pkey PRIMARY KEY (id),
  constraint captcha_task_one_per_job UNIQUE (job_id),
  constraint captcha_task_uuid_once UNIQUE (uuid),
  constraint captcha_task_ended_at_when_ended CHECK (((status = ANY (ARRAY['solved'::text, 'expired'::text, 'unsolvable'::text])) = (ended_at IS NOT NULL))),
  constraint captcha_task_lock_has_operator CHECK (((locked_until IS NULL) OR (assigned_to IS NOT NULL))),
  constraint captcha_task_lock_while_claimed CHECK (((status = ANY (ARRAY['in_progress'::text, 'solving'::text])) = (locked_until IS NOT NULL))),
  constraint captcha_task_priority_1_to_10 CHECK (((priority >= 1) AND (priority <= 10))),
  constraint captcha_task_status_known CHECK ((status = ANY (ARRAY['pending'::text, 'in_progress'::text, 'solving'::text, 'failed'::text, 'solved'::text, 'expired'::text, 'unsolvable'::text]))),
  constraint captcha_task_unclaimed_since_while_free CHECK (((status = ANY (ARRAY['pending'::text, 'failed'::text])) = (unclaimed_since IS NOT NULL)))
);

create table challenge_nonces (
  side text not null,
  nonce text not null,
  seen_at timestamp with time zone not null default clock_timestamp(),
  constraint challenge_nonces_pkey PRIMARY KEY (side, nonce),
  constraint challenge_nonces_side_known CHECK ((side = ANY (ARRAY['solver'::text, 'challenger'::text])))
);

create table challenge_results (
  result_id bigint not null generated always as identity,
  challenge_id text not null,
  request_id text not null,
  solver_job_id text,
  status text not null,
  answer text,
  error_code text,
  error_message text,
  is_correct boolean,
  rule text not null,
  metadata json,
  is_final boolean not null,
  body_hash text not null,
  bytes integer not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint challenge_results_pkey PRIMARY KEY (result_id),
  constraint challenge_results_one_per_request UNIQUE (challenge_id, request_id),
  constraint challenge_results_challenge_id_fkey FOREIGN KEY (challenge_id) REFERENCES challenges(challenge_id)
);

create table challenge_webhooks (
  webhook_id bigint not null generated always as identity,
  challenge_id text not null,
  request_id text not null,
  headers json not null,
  body_hash text not null,
  status_code integer not null,
  outcome text not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint challenge_webhooks_pkey PRIMARY KEY (webhook_id),
  constraint challenge_webhooks_outcome_known CHECK ((outcome = ANY (ARRAY['recorded'::text, 'duplicate'::text, 'conflict'::text, 'refused'::text])))
);

create table challenges (
  challenge_id text not null,
  seq bigint not null generated always as identity,
  account_id bigint not null,
  problem json not null,
  output_spec json,
  constraints json,
  validation_rule json not null,
  answer text not null,
  state text not null default 'created'::text,
  solver_job_id text,
  idempotency_key text,
  body_hash text not null,
  bytes integer not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  sent_at timestamp with time zone,
  completed_at timestamp with time zone,
  constraint challenges_pkey PRIMARY KEY (challenge_id),
  constraint challenges_idempotency_key_used_once UNIQUE (account_id, idempotency_key),
  constraint challenges_seq_once UNIQUE (seq),
  constraint challenges_state_known CHECK ((state = ANY (ARRAY['created'::text, 'sending'::text, 'accepted'::text, 'send_failed'::text, 'completed'::text])))
);

create table delivery_attempts (
  delivery_attempt_id bigint not null generated always as identity,
  outbox_id bigint not null,
  topic text not null,
  subject text not null,
  request_id text not null,
  attempt integer not null,
  url text not null,
  status_code integer,
  error text,
  cause text,
  peer_code text,
  duration_ms integer not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint delivery_attempts_pkey PRIMARY KEY (delivery_attempt_id)
);

create table events (
  event_id bigint not null generated always as identity,
  outbox_id bigint not null,
  channel text not null,
  type text not null,
  payload json not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint events_pkey PRIMARY KEY (event_id),
  constraint events_copied_once UNIQUE (outbox_id)
);

create table idempotency_keys (
  scope text not null,
  key text not null,
  body_hash text not null,
  job_id uuid not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint idempotency_keys_pkey PRIMARY KEY (scope, key)
);

create table jobs (
  job_id uuid not null,
  kind text not null,
  state job_state not null default 'pending'::job_state,
  priority integer not null,
  rank bigint not null,
  due_at timestamp with time zone,
  payload json not null,
  result json,
  reason text,
  attempt_id integer not null default 0,
  max_attempts integer,
  releases integer not null default 0,
  lease_owner text,
  lease_until timestamp with time zone,
  account_id bigint,
  trace_id text,
  replay_of uuid,
  submitted_at timestamp with time zone not null default clock_timestamp(),
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  constraint jobs_pkey PRIMARY KEY (job_id),
  constraint jobs_columns_fit_state CHECK (
CASE
    WHEN (finished_at IS NOT NULL) THEN ((lease_until IS NULL) AND (due_at IS NULL) AND
    CASE
        WHEN (reason IS NULL) THEN (state = 'done'::job_state)
        ELSE ((state = 'dead'::job_state) AND (result IS NULL))
    END)
    WHEN (lease_until IS NOT NULL) THEN ((state = 'processing'::job_state) AND (lease_owner IS NOT NULL) AND (due_at IS NULL) AND (reason IS NULL) AND (result IS NULL))
    ELSE ((state = 'pending'::job_state) AND (reason IS NULL) AND (result IS NULL))
END) NOT VALID,
  constraint jobs_max_attempts_positive CHECK ((max_attempts > 0))
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_insert_scale_factor=0.1, autovacuum_analyze_scale_factor=0.1, fillfactor=40);

create table join_keys (
  user_id bigint not null,
  key text not null,
  body_hash text not null,
  mode text not null,
  expires_at timestamp with time zone not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint join_keys_pkey PRIMARY KEY (user_id, key),
  constraint join_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts(account_id) ON DELETE CASCADE
);

create table judge_submissions (
  job_id uuid not null,
  account_id bigint not null,
  problem_id text not null,
  language text not null,
  verdict text,
  score double precision,
  time_ms integer,
  mem_kb bigint,
  rejudge_of uuid,
  created_at timestamp with time zone not null default clock_timestamp(),
  finished_at timestamp with time zone,
  constraint judge_submissions_pkey PRIMARY KEY (job_id),
  constraint judge_submissions_finished_at_with_verdict CHECK (((verdict IS NULL) = (finished_at IS NULL))),
  constraint judge_submissions_verdict_known CHECK ((verdict = ANY (ARRAY['AC'::text, 'WA'::text, 'TLE'::text, 'MLE'::text, 'OLE'::text, 'RE'::text, 'CE'::text, 'SE'::text])))
);

create table judge_workers (
  owner text not null,
  languages json not null,
  seen_at timestamp with time zone not null default clock_timestamp(),
  constraint judge_workers_pkey PRIMARY KEY (owner)
);

create table live_matches (
  match_id uuid not null,
  mode text not null,
  user_a bigint not null,
  user_b bigint not null,
  participants json not null,
  ticks integer not null,
  tick_interval_ms integer not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  attempt_id integer not null,
  node text not null,
  tick integer not null default 0,
  inputs bytea not null default '\x'::bytea,
  saved_at timestamp with time zone not null default clock_timestamp(),
  constraint live_matches_pkey PRIMARY KEY (match_id)
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=200);

create table match_results (
  match_id uuid not null,
  mode text not null,
  user_a bigint not null,
  user_b bigint not null,
  reason text not null,
  winner_user_id bigint,
  ticks integer not null,
  tick_interval_ms integer not null,
  position_a integer,
  position_b integer,
  inputs bytea not null,
  created_at timestamp with time zone not null,
  finished_at timestamp with time zone not null default clock_timestamp(),
  constraint match_results_pkey PRIMARY KEY (match_id),
  constraint match_results_both_positions CHECK (((position_a IS NULL) = (position_b IS NULL))),
  constraint match_results_positions_unless_void CHECK (((reason = 'void'::text) = (position_a IS NULL))),
  constraint match_results_reason_known CHECK ((reason = ANY (ARRAY['completed'::text, 'resigned'::text, 'void'::text]))),
  constraint match_results_void_has_no_winner CHECK (((reason <> 'void'::text) OR (winner_user_id IS NULL))),
  constraint match_results_winner_played CHECK (((winner_user_id IS NULL) OR ((winner_user_id = user_a) OR (winner_user_id = user_b))))
);

create table migrations (
  owner text not null,
  name text not null,
  sha256 text not null,
  applied_at timestamp with time zone not null default clock_timestamp(),
  constraint migrations_pkey PRIMARY KEY (owner, name)
);

create table outbox_events (
  outbox_id bigint not null generated always as identity,
  job_id uuid,
  topic text not null,
  payload json not null,
  status text not null default 'pending'::text,
  attempts integer not null default 0,
  attempts_forgiven integer not null default 0,
  next_attempt_at timestamp with time zone not null default clock_timestamp(),
  last_error text,
  dispatched_at timestamp with time zone,
  stream_entry_id text,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint outbox_events_pkey PRIMARY KEY (outbox_id),
  constraint outbox_events_one_per_job_and_topic UNIQUE (job_id, topic),
  constraint outbox_events_status_known CHECK ((status = ANY (ARRAY['pending'::text, 'delivered'::text, 'dead'::text])))
) with (autovacuum_vacuum_scale_factor=0.02);

create table password_links (
  account_id bigint not null,
  link_hash bytea not null,
  expires_at timestamp with time zone not null,
  constraint password_links_pkey PRIMARY KEY (account_id),
  constraint password_links_hash_once UNIQUE (link_hash),
  constraint password_links_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(account_id) ON DELETE CASCADE
);

create table players (
  user_id bigint not null,
  rating double precision not null default 1500,
  rd double precision not null default 350,
  volatility double precision not null default 0.06,
  games integer not null default 0,
  wins integer not null default 0,
  losses integer not null default 0,
  is_listed boolean not null default true,
  place integer generated always as 
CASE
    WHEN ((games > 0) AND is_listed) THEN (- (round(rating))::integer)
    ELSE NULL::integer
END stored,
  constraint players_pkey PRIMARY KEY (user_id),
  constraint players_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts(account_id) ON DELETE CASCADE,
  constraint players_wins_and_losses_within_games CHECK (((wins + losses) <= games))
) with (fillfactor=80);

create table pool_assignments (
  assignment_id bigint not null generated by default as identity,
  worker_id bigint not null,
  job_id uuid not null,
  quorum_id uuid,
  attempt_id integer not null,
  nonce text not null,
  cost_hint integer not null,
  lease_ms integer not null,
  assigned_at timestamp with time zone not null default clock_timestamp(),
  constraint pool_assignments_pkey PRIMARY KEY (assignment_id),
  constraint pool_assignments_attempt UNIQUE (job_id, attempt_id)
);

create table pool_audit (
  audit_id bigint not null generated always as identity,
  worker_id bigint not null,
  action text not null,
  reason text,
  actor_id bigint,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint pool_audit_pkey PRIMARY KEY (audit_id),
  constraint pool_audit_action_known CHECK ((action = ANY (ARRAY['ban'::text, 'unban'::text, 'set_key'::text])))
);

create table pool_canaries (
  canary_id bigint not null generated always as identity,
  class_id bigint not null,
  payload json not null,
  expected_hash text not null,
  created_by bigint not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  retired_at timestamp with time zone,
  constraint pool_canaries_pkey PRIMARY KEY (canary_id)
);

create table pool_canary_uses (
  canary_id bigint not null,
  worker_id bigint not null,
  constraint pool_canary_uses_pkey PRIMARY KEY (worker_id, canary_id)
);

create table pool_parts (
  job_id uuid not null,
  quorum_id uuid not null,
  owner_id bigint not null,
  is_trusted boolean not null,
  constraint pool_parts_pkey PRIMARY KEY (job_id),
  constraint pool_parts_one_per_owner UNIQUE (quorum_id, owner_id)
);

create table pool_quorums (
  job_id uuid not null,
  class_id bigint not null,
  quorum smallint not null,
  replicas smallint not null,
  replicas_max smallint not null,
  issued smallint not null default 0,
  accepted_at timestamp with time zone not null default clock_timestamp(),
  deadline_at timestamp with time zone not null,
  agree json,
  retries smallint not null default 0,
  payload_bytes integer not null,
  winner_id bigint,
  ended_at timestamp with time zone,
  touches integer not null default 1,
  settled integer not null default 0,
  constraint pool_quorums_pkey PRIMARY KEY (job_id),
  constraint pool_quorums_sizes CHECK (((quorum >= 1) AND (quorum <= replicas) AND (replicas <= replicas_max) AND (issued <= replicas_max)))
);

create table pool_receipts (
  number bigint not null,
  assignment_id bigint not null,
  body text not null,
  hash text not null,
  signature text not null,
  constraint pool_receipts_pkey PRIMARY KEY (number),
  constraint pool_receipts_assignment UNIQUE (assignment_id),
  constraint pool_receipts_hash UNIQUE (hash)
);

create table pool_requirement_classes (
  class_id bigint not null generated always as identity,
  client_id bigint,
  region text,
  specs json,
  key text not null,
  used_at timestamp with time zone not null default clock_timestamp(),
  constraint pool_requirement_classes_pkey PRIMARY KEY (class_id),
  constraint pool_requirement_classes_key UNIQUE (key)
);

create table pool_results (
  assignment_id bigint not null,
  job_id uuid not null,
  quorum_id uuid,
  worker_id bigint not null,
  status text not null,
  output json,
  output_hash text,
  computed_hash text,
  vote text,
  error_message text,
  artifact_uri text,
  metrics json,
  signature text not null,
  public_key text not null,
  verdict text,
  finished_at timestamp with time zone not null,
  is_final boolean not null,
  constraint pool_results_pkey PRIMARY KEY (assignment_id),
  constraint pool_results_failed_has_error CHECK (((status = 'failed'::text) = (error_message IS NOT NULL))),
  constraint pool_results_status_known CHECK ((status = ANY (ARRAY['completed'::text, 'failed'::text]))),
  constraint pool_results_verdict_known CHECK ((verdict = ANY (ARRAY['agreed'::text, 'disagreed'::text, 'passed'::text, 'wrong'::text])))
);

create table pool_server_keys (
  name text not null,
  public_key text not null,
  secret text not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint pool_server_keys_pkey PRIMARY KEY (name)
);

create table pool_tasks (
  job_id uuid not null,
  class_id bigint not null,
  priority integer not null,
  accepted_at timestamp with time zone not null,
  quorum_id uuid,
  quorum smallint,
  canary_id bigint,
  callback_url text,
  requires_hash boolean not null,
  payload_bytes integer not null default 0,
  deadline_at timestamp with time zone,
  worker_id bigint,
  held_at timestamp with time zone,
  held_lease_ms integer,
  retries_left smallint not null default 0,
  failed_by bigint[] not null default '{}'::bigint[],
  constraint pool_tasks_pkey PRIMARY KEY (job_id),
  constraint pool_tasks_held_since CHECK (((worker_id IS NULL) = (held_at IS NULL))),
  constraint pool_tasks_replica CHECK (((quorum_id IS NULL) = (quorum IS NULL)))
) with (fillfactor=80, autovacuum_vacuum_scale_factor=0.02);

create table pool_workers (
  worker_id bigint not null generated always as identity,
  name text not null,
  owner_id bigint not null,
  region text,
  specs json,
  public_key text,
  lease_seconds integer,
  registered_at timestamp with time zone not null default clock_timestamp(),
  paused_at timestamp with time zone,
  removed_at timestamp with time zone,
  last_seen_at timestamp with time zone,
  assignment_id bigint,
  banned_at timestamp with time zone,
  ban_reason text,
  completed integer not null default 0,
  failed integer not null default 0,
  lost integer not null default 0,
  canaries_passed integer not null default 0,
  canaries_wrong integer not null default 0,
  agreed integer not null default 0,
  disagreed integer not null default 0,
  proven integer not null default 0,
  constraint pool_workers_pkey PRIMARY KEY (worker_id),
  constraint pool_workers_name UNIQUE (name),
  constraint pool_workers_ban_has_reason CHECK (((banned_at IS NULL) = (ban_reason IS NULL))),
  constraint pool_workers_banned_hold_nothing CHECK (((banned_at IS NULL) OR (assignment_id IS NULL))),
  constraint pool_workers_removed_hold_nothing CHECK (((removed_at IS NULL) OR (assignment_id IS NULL)))
) with (fillfactor=70);

create table presences (
  user_id bigint not null,
  node text not null,
  constraint presences_pkey PRIMARY KEY (user_id, node)
);

create table problem_imports (
  import_id bigint not null generated always as identity,
  problem_id text not null,
  package_sha256 text not null,
  account_id bigint,
  imported_at timestamp with time zone not null default clock_timestamp(),
  constraint problem_imports_pkey PRIMARY KEY (import_id),
  constraint problem_imports_problem_id_fkey FOREIGN KEY (problem_id) REFERENCES problems(problem_id)
);

create table problems (
  problem_id text not null,
  title text not null,
  package_sha256 text not null,
  package_bytes bigint not null,
  tests integer not null,
  about json not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint problems_pkey PRIMARY KEY (problem_id)
);

create table rank_blocks (
  place integer not null,
  block bigint not null,
  players bigint not null,
  constraint rank_blocks_pkey PRIMARY KEY (place, block)
) with (fillfactor=70, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=200);

create table rank_places (
  place integer not null,
  players bigint not null,
  constraint rank_places_pkey PRIMARY KEY (place)
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=200);

create unlogged table rate_windows (
  bucket text not null,
  ends_at timestamp with time zone not null,
  count integer not null,
  constraint rate_windows_pkey PRIMARY KEY (bucket)
);

create table rating_applies (
  match_id uuid not null,
  user_id bigint not null,
  game integer not null,
  opponent_id bigint not null,
  score double precision not null,
  rating_before double precision not null,
  rating_after double precision not null,
  rd_before double precision not null,
  rd_after double precision not null,
  volatility_before double precision not null,
  volatility_after double precision not null,
  applied_at timestamp with time zone not null default clock_timestamp(),
  constraint rating_applies_once_per_match PRIMARY KEY (match_id, user_id),
  constraint rating_applies_one_chain_per_player UNIQUE (user_id, game),
  constraint rating_applies_match_id_fkey FOREIGN KEY (match_id) REFERENCES match_results(match_id),
  constraint rating_applies_user_id_fkey FOREIGN KEY (user_id) REFERENCES players(user_id) ON DELETE CASCADE,
  constraint rating_applies_score_known CHECK ((score = ANY (ARRAY[(0)::double precision, (0.5)::double precision, (1)::double precision])))
);

create table resume_tokens (
  token_hash bytea not null,
  user_id bigint not null,
  version integer not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  expires_at timestamp with time zone not null,
  constraint resume_tokens_pkey PRIMARY KEY (token_hash),
  constraint resume_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts(account_id) ON DELETE CASCADE
);

create table seats (
  user_id bigint not null,
  number bigint not null generated always as identity,
  mode text not null,
  code text,
  joined_at timestamp with time zone not null default clock_timestamp(),
  expires_at timestamp with time zone not null,
  match_id uuid,
  constraint seats_pkey PRIMARY KEY (user_id),
  constraint seats_user_id_fkey FOREIGN KEY (user_id) REFERENCES accounts(account_id) ON DELETE CASCADE,
  constraint seats_mode_known CHECK ((mode = ANY (ARRAY['normal'::text, 'rated'::text, 'private'::text, 'bot'::text])))
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=200);

create table solve_requests (
  challenge_id text not null,
  job_id uuid not null,
  callback_url text not null,
  status text not null default 'pending'::text,
  answer text,
  error_code text,
  accepted_at timestamp with time zone not null default clock_timestamp(),
  finished_at timestamp with time zone,
  waits_for uuid,
  resent_at timestamp with time zone,
  constraint solve_requests_pkey PRIMARY KEY (challenge_id),
  constraint solve_requests_one_per_job UNIQUE (job_id),
  constraint solve_requests_finished_at_when_ended CHECK (((status = 'pending'::text) = (finished_at IS NULL))),
  constraint solve_requests_status_known CHECK ((status = ANY (ARRAY['pending'::text, 'success'::text, 'failed'::text])))
);

create table tokens (
  token_hash bytea not null,
  session_id bigint not null generated always as identity,
  account_id bigint not null,
  address text not null default ''::text,
  user_agent text not null default ''::text,
  created_at timestamp with time zone not null default clock_timestamp(),
  expires_at timestamp with time zone not null,
  constraint tokens_pkey PRIMARY KEY (token_hash),
  constraint tokens_session_once UNIQUE (session_id),
  constraint tokens_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(account_id) ON DELETE CASCADE
);
CREATE INDEX accounts_by_name ON public.accounts USING btree (username_key text_pattern_ops);
CREATE INDEX accounts_with_admin_role ON public.accounts USING btree (account_id) WHERE ('ADMIN'::text = ANY (roles));
CREATE INDEX api_keys_by_account ON public.api_keys USING btree (account_id, api_key_id);
CREATE INDEX audit_events_by_account ON public.audit_events USING btree (account_id, audit_id);
CREATE INDEX audit_events_by_age ON public.audit_events USING btree (created_at);
CREATE INDEX captcha_audit_by_actor ON public.captcha_audit USING btree (actor, action, audit_id);
CREATE INDEX captcha_audit_by_task ON public.captcha_audit USING btree (uuid, audit_id);
CREATE INDEX captcha_audit_by_time ON public.captcha_audit USING btree (at);
CREATE UNIQUE INDEX captcha_audit_one_end_per_job ON public.captcha_audit USING btree (job_id) WHERE (action = ANY (ARRAY['solved'::text, 'unsolvable'::text, 'expired'::text, 'cancelled'::text]));
CREATE UNIQUE INDEX captcha_audit_seen_once ON public.captcha_audit USING btree (uuid, actor) WHERE (action = 'seen'::text);
CREATE INDEX captcha_session_by_expiry ON public.captcha_session USING btree (expires_at);
CREATE INDEX captcha_session_by_task ON public.captcha_session USING btree (uuid);
CREATE INDEX captcha_task_by_account ON public.captcha_task USING btree (account_id, id);
CREATE INDEX captcha_task_by_domain ON public.captcha_task USING btree (domain, id);
CREATE INDEX captcha_task_by_lock_expiry ON public.captcha_task USING btree (locked_until) WHERE (locked_until IS NOT NULL);
CREATE INDEX captcha_task_by_priority ON public.captcha_task USING btree (priority DESC, id);
CREATE INDEX captcha_task_by_status ON public.captcha_task USING btree (status, priority DESC, id);
CREATE INDEX captcha_task_by_unclaimed_since ON public.captcha_task USING btree (unclaimed_since) WHERE (unclaimed_since IS NOT NULL);
CREATE UNIQUE INDEX captcha_task_one_open_duplicate ON public.captcha_task USING btree (account_id, dup_key) WHERE ((ended_at IS NULL) AND (dup_key IS NOT NULL));
CREATE INDEX captcha_task_open_by_account ON public.captcha_task USING btree (account_id) WHERE (ended_at IS NULL);
CREATE INDEX captcha_task_open_by_priority ON public.captcha_task USING btree (priority DESC, id) WHERE (ended_at IS NULL);
CREATE INDEX captcha_task_with_kept_values ON public.captcha_task USING btree (ended_at) WHERE ((ended_at IS NOT NULL) AND ((solver_result IS NOT NULL) OR (preview_type IS NOT NULL) OR (images IS NOT NULL)));
CREATE INDEX challenge_nonces_by_age ON public.challenge_nonces USING btree (seen_at);
CREATE UNIQUE INDEX challenge_results_one_final ON public.challenge_results USING btree (challenge_id) WHERE is_final;
CREATE INDEX challenge_webhooks_by_challenge ON public.challenge_webhooks USING btree (challenge_id, webhook_id);
CREATE INDEX challenges_by_account ON public.challenges USING btree (account_id, seq);
CREATE INDEX delivery_attempts_by_outbox_id ON public.delivery_attempts USING btree (outbox_id, delivery_attempt_id);
CREATE INDEX delivery_attempts_by_subject ON public.delivery_attempts USING btree (topic, subject, delivery_attempt_id);
CREATE INDEX events_by_age ON public.events USING btree (created_at);
CREATE INDEX events_by_channel ON public.events USING btree (channel, event_id);
CREATE INDEX idempotency_keys_by_age ON public.idempotency_keys USING btree (created_at);
CREATE INDEX jobs_dead_by_kind ON public.jobs USING btree (kind, job_id) WHERE (reason IS NOT NULL);
CREATE INDEX jobs_delayed_by_due_at ON public.jobs USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX jobs_live_by_rank ON public.jobs USING btree (kind, rank, job_id) WHERE ((finished_at IS NULL) AND (due_at IS NULL));
CREATE UNIQUE INDEX jobs_one_replay_each ON public.jobs USING btree (replay_of) WHERE (replay_of IS NOT NULL);
CREATE INDEX join_keys_by_age ON public.join_keys USING btree (created_at);
CREATE INDEX judge_submissions_by_account ON public.judge_submissions USING btree (account_id, job_id);
CREATE INDEX judge_submissions_by_problem ON public.judge_submissions USING btree (problem_id, job_id);
CREATE INDEX judge_submissions_waiting_by_account ON public.judge_submissions USING btree (account_id) WHERE (verdict IS NULL);
CREATE INDEX match_results_by_user_a ON public.match_results USING btree (user_a, match_id);
CREATE INDEX match_results_by_user_b ON public.match_results USING btree (user_b, match_id);
CREATE INDEX outbox_events_dead_by_topic ON public.outbox_events USING btree (topic, outbox_id) WHERE (status = 'dead'::text);
CREATE INDEX outbox_events_due_by_topic ON public.outbox_events USING btree (topic, next_attempt_at) WHERE (status = 'pending'::text);
CREATE INDEX players_by_place ON public.players USING btree (place, user_id);
CREATE INDEX pool_assignments_quorum ON public.pool_assignments USING btree (quorum_id) WHERE (quorum_id IS NOT NULL);
CREATE INDEX pool_audit_worker ON public.pool_audit USING btree (worker_id, audit_id);
CREATE INDEX pool_canaries_live ON public.pool_canaries USING btree (class_id) WHERE (retired_at IS NULL);
CREATE INDEX pool_quorums_open_class ON public.pool_quorums USING btree (class_id) WHERE (ended_at IS NULL);
CREATE INDEX pool_quorums_unsettled ON public.pool_quorums USING btree (job_id) WHERE (touches > settled);
CREATE INDEX pool_requirement_classes_client ON public.pool_requirement_classes USING btree (client_id);
CREATE UNIQUE INDEX pool_results_one_final ON public.pool_results USING btree (job_id) WHERE is_final;
CREATE INDEX pool_results_quorum ON public.pool_results USING btree (quorum_id) WHERE (quorum_id IS NOT NULL);
CREATE INDEX pool_results_retried ON public.pool_results USING btree (job_id) WHERE (NOT is_final);
CREATE INDEX pool_results_undecided ON public.pool_results USING btree (worker_id) WHERE ((quorum_id IS NOT NULL) AND (verdict IS NULL));
CREATE INDEX pool_tasks_canary ON public.pool_tasks USING btree (canary_id) WHERE (canary_id IS NOT NULL);
CREATE INDEX pool_tasks_deadline ON public.pool_tasks USING btree (deadline_at) WHERE (deadline_at IS NOT NULL);
CREATE UNIQUE INDEX pool_tasks_held ON public.pool_tasks USING btree (worker_id) WHERE (worker_id IS NOT NULL);
CREATE INDEX pool_tasks_quorum ON public.pool_tasks USING btree (quorum_id) WHERE (quorum_id IS NOT NULL);
CREATE INDEX pool_tasks_waiting ON public.pool_tasks USING btree (class_id, priority DESC, accepted_at, job_id) WHERE (worker_id IS NULL);
CREATE INDEX pool_workers_owner ON public.pool_workers USING btree (owner_id, worker_id) WHERE (removed_at IS NULL);
CREATE INDEX presences_by_node ON public.presences USING btree (node);
CREATE INDEX problem_imports_by_problem ON public.problem_imports USING btree (problem_id, import_id);
CREATE INDEX rank_blocks_empty ON public.rank_blocks USING btree (place, block) WHERE (players = 0);
CREATE INDEX rate_windows_by_end ON public.rate_windows USING btree (ends_at);
CREATE INDEX resume_tokens_by_expiry ON public.resume_tokens USING btree (expires_at);
CREATE INDEX resume_tokens_by_user ON public.resume_tokens USING btree (user_id, created_at);
CREATE INDEX seats_by_code ON public.seats USING btree (code, mode) WHERE (code IS NOT NULL);
CREATE INDEX seats_waiting_by_expiry ON public.seats USING btree (expires_at) WHERE (match_id IS NULL);
CREATE INDEX seats_waiting_by_number ON public.seats USING btree (mode, number) WHERE (match_id IS NULL);
CREATE INDEX tokens_by_account ON public.tokens USING btree (account_id);
CREATE INDEX tokens_by_expiry ON public.tokens USING btree (expires_at);
create view ledger_jobs as
 SELECT job_id,
    kind,
    state,
    attempt_id,
        CASE
            WHEN (state = 'processing'::job_state) THEN lease_owner
            ELSE NULL::text
        END AS lease_owner,
    lease_until,
    due_at,
    result,
    reason,
    account_id,
    submitted_at AS created_at,
    COALESCE(finished_at, started_at, submitted_at) AS updated_at
   FROM jobs;
create view outbox_tasks as
 SELECT o.outbox_id,
    j.job_id,
    o.status,
    o.attempts,
    o.next_attempt_at,
    o.last_error,
    o.dispatched_at,
    NULLIF(
        CASE
            WHEN (o.topic = 'feed'::text) THEN o.stream_entry_id
            ELSE split_part(o.stream_entry_id, ','::text, (announced."position")::integer)
        END, ''::text) AS stream_entry_id,
    o.created_at,
    json_build_object('job_id', j.job_id, 'kind', j.kind, 'priority', j.priority, 'account_id', j.account_id, 'trace_id', j.trace_id, 'payload', j.payload) AS payload
   FROM ((outbox_events o
     CROSS JOIN LATERAL ( SELECT o.job_id,
            1 AS "position"
          WHERE (o.topic = 'feed'::text)
        UNION ALL
         SELECT (batch.id)::uuid AS id,
            batch."position"
           FROM json_array_elements_text(
                CASE
                    WHEN (o.topic = 'feed_batch'::text) THEN o.payload
                    ELSE '[]'::json
                END) WITH ORDINALITY batch(id, "position")) announced)
     JOIN jobs j ON ((j.job_id = announced.job_id)))
  WHERE (o.topic = ANY (ARRAY['feed'::text, 'feed_batch'::text]));
create view submissions as
 SELECT job_id,
        CASE state
            WHEN 'pending'::job_state THEN 'pending'::text
            WHEN 'processing'::job_state THEN 'running'::text
            WHEN 'dead'::job_state THEN 'System Error'::text
            ELSE
            CASE (result ->> 'verdict'::text)
                WHEN 'AC'::text THEN 'Accepted'::text
                WHEN 'WA'::text THEN 'Wrong Answer'::text
                WHEN 'TLE'::text THEN 'Time Limit Exceeded'::text
                WHEN 'MLE'::text THEN 'Memory Limit Exceeded'::text
                WHEN 'OLE'::text THEN 'Output Limit Exceeded'::text
                WHEN 'RE'::text THEN 'Runtime Error'::text
                WHEN 'CE'::text THEN 'Compile Error'::text
                ELSE 'System Error'::text
            END
        END AS status,
    state,
    attempt_id,
    lease_owner,
    lease_until,
    result,
    created_at,
    updated_at
   FROM ledger_jobs
  WHERE (kind = 'judge'::text);
CREATE OR REPLACE FUNCTION public.count_ranks(changed_places integer[], changed_users bigint[], changes integer[])
 RETURNS void
 LANGUAGE sql
AS $function$
  insert into rank_blocks as known (place, block, players)
  select place, user_id >> 11, sum(change)
    from unnest(changed_places, changed_users, changes) as c (place, user_id, change)
   where place is not null
   group by 1, 2 having sum(change) <> 0 order by 1, 2
      on conflict (place, block) do update set players = known.players + excluded.players;
  insert into rank_places as known (place, players)
  select place, sum(change)
    from unnest(changed_places, changed_users, changes) as c (place, user_id, change)
   where place is not null
   group by 1 having sum(change) <> 0 order by 1
      on conflict (place) do update set players = known.players + excluded.players
$function$;
CREATE OR REPLACE FUNCTION public.jobs_deleted()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (select from gone join jobs replay on replay.replay_of = gone.job_id) then
    raise foreign_key_violation using message = 'A job that was replayed cannot be deleted before its replay.', table = 'jobs',
      constraint = 'jobs_replay_of_fkey';
  end if;
  delete from attempts using gone where attempts.job_id = gone.job_id;
  return null;
end $function$;
CREATE OR REPLACE FUNCTION public.jobs_replay_changed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (select from jobs replay where replay_of is not null
                and not exists (select from jobs replayed where replayed.job_id = replay.replay_of)) then
    raise foreign_key_violation using message = 'A job cannot replay a job that does not exist.', table = 'jobs',
      constraint = 'jobs_replay_of_fkey';
  end if;
  return null;
end $function$;
CREATE OR REPLACE FUNCTION public.jobs_replay_inserted()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform from jobs where job_id = new.replay_of for key share;
  if not found then
    raise foreign_key_violation using message = 'A job cannot replay a job that does not exist.', table = 'jobs',
      constraint = 'jobs_replay_of_fkey';
  end if;
  return null;
end $function$;
CREATE OR REPLACE FUNCTION public.players_came()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform count_ranks(array_agg(place), array_agg(user_id), array_agg(1)) from arrived having count(*) > 0;
  return null;
end $function$;
CREATE OR REPLACE FUNCTION public.players_left()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform count_ranks(array_agg(place), array_agg(user_id), array_agg(-1)) from departed having count(*) > 0;
  return null;
end $function$;
CREATE OR REPLACE FUNCTION public.players_moved()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform count_ranks(array_agg(place), array_agg(user_id), array_agg(change))
     from (select place, user_id, 1 as change from arrived
            union all
           select place, user_id, -1 from departed) as moved
   having count(*) > 0;
  return null;
end $function$;
CREATE TRIGGER jobs_deleted AFTER DELETE ON public.jobs REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION jobs_deleted();
CREATE TRIGGER jobs_replay_changed AFTER UPDATE OF replay_of ON public.jobs FOR EACH STATEMENT EXECUTE FUNCTION jobs_replay_changed();
CREATE TRIGGER jobs_replay_inserted AFTER INSERT ON public.jobs FOR EACH ROW WHEN ((new.replay_of IS NOT NULL)) EXECUTE FUNCTION jobs_replay_inserted();
CREATE TRIGGER players_came AFTER INSERT ON public.players REFERENCING NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION players_came();
CREATE TRIGGER players_left AFTER DELETE ON public.players REFERENCING OLD TABLE AS departed FOR EACH STATEMENT EXECUTE FUNCTION players_left();
CREATE TRIGGER players_moved AFTER UPDATE ON public.players REFERENCING OLD TABLE AS departed NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION players_moved();
