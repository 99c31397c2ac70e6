-- Problems and submissions. A submission is a job of kind `judge`; its row here is for lists and quotas.

create table problems (
  problem_id     text primary key,
  title          text not null,
  -- The package is a file of this name. A submission pins it.
  package_sha256 text not null,
  package_bytes  bigint not null,
  tests          integer not null,
  -- What contestants may see: limits, samples, statement.
  about          json not null,
  created_at     timestamptz not null default clock_timestamp(),
  updated_at     timestamptz not null default clock_timestamp()
);

-- Who imported which package, and when.
create table problem_imports (
  import_id      bigint generated always as identity primary key,
  problem_id     text not null references problems,
  package_sha256 text not null,
  -- Null: from the command line.
  account_id     bigint,
  imported_at    timestamptz not null default clock_timestamp()
);
create index problem_imports_by_problem on problem_imports (problem_id, import_id);

create table judge_submissions (
  job_id      uuid primary key,
  account_id  bigint not null,
  problem_id  text not null,
  language    text not null,
  -- Null: not judged yet.
  verdict     text constraint judge_submissions_verdict_known check (verdict in ('AC', 'WA', 'TLE', 'MLE', 'OLE', 'RE', 'CE', 'SE')),
  score       double precision,
  time_ms     integer,
  mem_kb      bigint,
  -- The submission that this one judges again.
  rejudge_of  uuid,
  created_at  timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  constraint judge_submissions_finished_at_with_verdict check ((verdict is null) = (finished_at is null))
);
create index judge_submissions_by_account on judge_submissions (account_id, job_id);
create index judge_submissions_by_problem on judge_submissions (problem_id, job_id);
create index judge_submissions_waiting_by_account on judge_submissions (account_id) where verdict is null;

-- For SQL readers: one row per submission, `status` as docs/judge.md 6.2 says.
create view submissions as
  select job_id,
         case state
           when 'pending' then 'pending'
           when 'processing' then 'running'
           when 'dead' then 'System Error'
           else case result ->> 'verdict'
             when 'AC' then 'Accepted'
             when 'WA' then 'Wrong Answer'
             when 'TLE' then 'Time Limit Exceeded'
             when 'MLE' then 'Memory Limit Exceeded'
             when 'OLE' then 'Output Limit Exceeded'
             when 'RE' then 'Runtime Error'
             when 'CE' then 'Compile Error'
             else 'System Error'
           end
         end as status,
         state, attempt_id, lease_owner, lease_until, result, created_at, updated_at
    from ledger_jobs
   where kind = 'judge';

-- Which languages can be judged now. Every working process publishes its own every few seconds.
create table judge_workers (
  owner     text primary key,
  languages json not null,
  seen_at   timestamptz not null default clock_timestamp()
);
