-- Problems, and what was submitted to them. A submission is a job of kind `judge`; its row here is what lists are made of.

create table problems (
  problem_id     text primary key,
  title          text not null,
  -- The package is a file of this name: judged is what was there when it was submitted.
  package_sha256 text not null,
  package_bytes  bigint not null,
  tests          integer not null,
  -- What a contestant may know of it: limits, samples, statement.
  about          json not null,
  created_at     timestamptz not null default clock_timestamp(),
  updated_at     timestamptz not null default clock_timestamp()
);

-- Who brought which package, and when.
create table problem_imports (
  import_id      bigint generated always as identity primary key,
  problem_id     text not null references problems,
  package_sha256 text not null,
  -- Null: from the command line.
  account_id     bigint,
  imported_at    timestamptz not null default clock_timestamp()
);
create index problem_imports_by_problem on problem_imports (problem_id, import_id);

create table submissions (
  job_id      uuid primary key,
  account_id  bigint not null,
  problem_id  text not null,
  language    text not null,
  -- Null: not judged yet.
  verdict     text constraint submissions_verdict_known check (verdict in ('AC', 'WA', 'TLE', 'MLE', 'OLE', 'RE', 'CE', 'SE')),
  score       double precision,
  time_ms     integer,
  mem_kb      bigint,
  created_at  timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  constraint submissions_finished_at_with_verdict check ((verdict is null) = (finished_at is null))
);
create index submissions_by_account on submissions (account_id, job_id);
create index submissions_by_problem on submissions (problem_id, job_id);

-- Which languages can be judged now: every working process says what it has, again and again.
create table judge_workers (
  owner     text primary key,
  languages json not null,
  seen_at   timestamptz not null default clock_timestamp()
);
