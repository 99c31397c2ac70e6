-- Who may do what. Secrets are stored only as hashes: argon2id for passwords, which people choose; SHA-256 for tokens and
-- API keys, which are 256 random bits.

create table accounts (
  account_id    bigint generated always as identity primary key,
  username      text not null,
  -- The username folded by the server (NFKC, lower case): what lower() does depends on the database's locale.
  username_key  text not null unique,
  password_hash text not null,
  roles         text[] not null check (
    roles <@ array['PLAYER', 'CLIENT', 'WORKER_OWNER', 'OPERATOR', 'SCRAPER', 'CHALLENGER', 'ADMIN']
  ),
  is_active     boolean not null default true,
  created_at    timestamptz not null default clock_timestamp()
);
create index accounts_admins on accounts (account_id) where 'ADMIN' = any (roles);

create table tokens (
  token_hash bytea primary key,
  account_id bigint not null references accounts on delete cascade,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);
create index tokens_account on tokens (account_id);
create index tokens_expiry on tokens (expires_at);

create table api_keys (
  api_key_id   bigint generated always as identity primary key,
  key_hash     bytea not null unique,
  name         text not null,
  account_id   bigint not null references accounts on delete cascade,
  created_at   timestamptz not null default clock_timestamp(),
  last_used_at timestamptz,
  revoked_at   timestamptz
);
create index api_keys_account on api_keys (account_id, api_key_id);

-- How often something happened in a window that began with its first time. Not worth a write-ahead log: a crash of the
-- database forgives.
create unlogged table rate_windows (
  bucket  text primary key,
  ends_at timestamptz not null,
  count   integer not null
);
create index rate_windows_end on rate_windows (ends_at);
