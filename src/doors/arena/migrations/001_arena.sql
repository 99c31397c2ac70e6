-- The arena: who plays, who waits, what runs, what came of it.

-- One row per account that has joined the queue, written with its first seat.
create table players (
  user_id    bigint primary key references accounts on delete cascade,
  rating     double precision not null default 1500,
  rd         double precision not null default 350,
  volatility double precision not null default 0.06,
  -- Rated games so far: the number of the last row of this player's chain in rating_applies.
  games      integer not null default 0,
  wins       integer not null default 0,
  losses     integer not null default 0,
  -- False while the account is closed.
  is_listed  boolean not null default true,
  -- The rating as it is shown, negative: the leaderboard is in the order of (place, user_id). Null before the first rated
  -- game, and of a closed account: the leaderboard lists those who have played.
  place      integer generated always as (case when games > 0 and is_listed then -round(rating)::integer end) stored,

  constraint players_wins_and_losses_within_games check (wins + losses <= games)
) with (fillfactor = 80);
create index players_by_place on players (place, user_id);

-- The leaderboard reads any page of a million players in a few milliseconds because it never counts players one by one:
-- it counts shown ratings (a few thousand), then blocks of 2,048 user ids within one of them (a few hundred), and then goes
-- along the index for less than a block. The two tables of counts change with players, in the same transaction.
create table rank_places (
  place   integer primary key,
  players bigint not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);
create table rank_blocks (
  place   integer not null,
  block   bigint not null,
  players bigint not null,
  primary key (place, block)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);
create index rank_blocks_empty on rank_blocks (place, block) where players = 0;

-- Always in the same order, places after blocks: two transactions that change the same counts take turns.
create function count_ranks(changed_places integer[], changed_users bigint[], changes integer[]) returns void
language sql as $$
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
$$;

create function players_came() returns trigger language plpgsql as $$
begin
  perform count_ranks(array_agg(place), array_agg(user_id), array_agg(1)) from arrived having count(*) > 0;
  return null;
end $$;
create function players_left() returns trigger language plpgsql as $$
begin
  perform count_ranks(array_agg(place), array_agg(user_id), array_agg(-1)) from departed having count(*) > 0;
  return null;
end $$;
create function players_moved() returns trigger language plpgsql as $$
begin
  perform count_ranks(array_agg(place), array_agg(user_id), array_agg(change))
     from (select place, user_id, 1 as change from arrived
            union all
           select place, user_id, -1 from departed) as moved
   having count(*) > 0;
  return null;
end $$;
create trigger players_came after insert on players
  referencing new table as arrived for each statement execute function players_came();
create trigger players_left after delete on players
  referencing old table as departed for each statement execute function players_left();
create trigger players_moved after update on players
  referencing new table as arrived old table as departed for each statement execute function players_moved();

-- Where a player is: waiting (no match) or in a match. One row for both, so that its key alone keeps a player from waiting
-- twice, from being in two matches, and from waiting while in a match, whatever happens at the same moment.
create table seats (
  user_id    bigint primary key references accounts on delete cascade,
  -- The order in which they came.
  number     bigint not null generated always as identity,
  mode       text not null constraint seats_mode_known check (mode in ('normal', 'rated', 'private', 'bot')),
  -- Two with the same mode and code are paired: the code of a private match, or the match that a rematch follows.
  code       text,
  joined_at  timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  match_id   uuid
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);
create index seats_waiting_by_number on seats (mode, number) where match_id is null;
create index seats_by_code on seats (code, mode) where code is not null;
create index seats_waiting_by_expiry on seats (expires_at) where match_id is null;

-- A repeated join with the same Idempotency-Key is answered with the first answer. Kept for a day at least.
create table join_keys (
  user_id    bigint not null references accounts on delete cascade,
  key        text not null,
  body_hash  text not null,
  mode       text not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (user_id, key)
);
create index join_keys_by_age on join_keys (created_at);

-- A match while it runs, with its last snapshot: the inputs so far (packed) and the tick. Positions follow from them.
create table live_matches (
  match_id         uuid primary key,
  mode             text not null,
  user_a           bigint not null,
  user_b           bigint not null,
  -- Names, and the ratings with which they came.
  participants     json not null,
  ticks            integer not null,
  tick_interval_ms integer not null,
  created_at       timestamptz not null default clock_timestamp(),
  -- The attempt and the node that run it: a snapshot of an earlier attempt is not taken.
  attempt_id       integer not null,
  node             text not null,
  tick             integer not null default 0,
  inputs           bytea not null default '',
  saved_at         timestamptz not null default clock_timestamp()
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);

create table match_results (
  match_id         uuid primary key,
  mode             text not null,
  user_a           bigint not null,
  user_b           bigint not null,
  reason           text not null constraint match_results_reason_known check (reason in ('completed', 'resigned', 'void')),
  -- Null: a draw, or void.
  winner_user_id   bigint,
  ticks            integer not null,
  tick_interval_ms integer not null,
  position_a       integer,
  position_b       integer,
  inputs           bytea not null,
  created_at       timestamptz not null,
  finished_at      timestamptz not null default clock_timestamp(),

  constraint match_results_winner_played check (winner_user_id is null or winner_user_id in (user_a, user_b)),
  constraint match_results_positions_unless_void check ((reason = 'void') = (position_a is null)),
  constraint match_results_both_positions check ((position_a is null) = (position_b is null)),
  constraint match_results_void_has_no_winner check (reason <> 'void' or winner_user_id is null)
);
create index match_results_by_user_a on match_results (user_a, match_id);
create index match_results_by_user_b on match_results (user_b, match_id);

-- What a match did to a rating: a chain per player. `game` counts its links, and no two may have the same number: of two
-- results that were computed from the same rating, the second cannot be written before it is computed again.
create table rating_applies (
  match_id          uuid not null references match_results,
  user_id           bigint not null references players on delete cascade,
  game              integer not null,
  opponent_id       bigint not null,
  score             double precision not null constraint rating_applies_score_known check (score in (0, 0.5, 1)),
  rating_before     double precision not null,
  rating_after      double precision not null,
  rd_before         double precision not null,
  rd_after          double precision not null,
  volatility_before double precision not null,
  volatility_after  double precision not null,
  applied_at        timestamptz not null default clock_timestamp(),
  constraint rating_applies_once_per_match primary key (match_id, user_id),
  constraint rating_applies_one_chain_per_player unique (user_id, game)
);

-- What lets a player back into the running match: good once, stored only as a hash.
create table resume_tokens (
  token_hash bytea primary key,
  user_id    bigint not null references accounts on delete cascade,
  version    integer not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);
create index resume_tokens_by_user on resume_tokens (user_id, created_at);
create index resume_tokens_by_expiry on resume_tokens (expires_at);

-- Which nodes live, and who is connected where: hints for where a match should run and who should be told of it.
create table arena_nodes (
  node    text primary key,
  seen_at timestamptz not null default clock_timestamp()
);
create table presences (
  user_id bigint not null,
  node    text not null,
  primary key (user_id, node)
);
create index presences_by_node on presences (node);
