-- Foreign keys of and to jobs are triggers for every row of every transition, though no transition changes what they watch:
-- a tenth of the processor time of a transition. The same is guarded by triggers that have nothing to do on the hot path.
--
-- An attempt still goes with its job. No guard says that the job of a new attempt exists: the statement that writes an attempt
-- has locked its job.

-- In the order in which transitions lock them: otherwise a transition of the version before and this migration wait for each other.
lock table jobs, attempts in access exclusive mode;

alter table attempts drop constraint attempts_job_id_fkey;
alter table jobs drop constraint jobs_replay_of_fkey;

create function jobs_replay_inserted() returns trigger language plpgsql as $$
begin
  perform from jobs where job_id = new.replay_of for key share;
  if not found then
    raise foreign_key_violation using message = 'A job cannot replay a job that does not exist.', table = 'jobs',
      constraint = 'jobs_replay_of_fkey';
  end if;
  return null;
end $$;

-- No statement of ours changes it. A trigger for each row would fetch every row that any update writes.
create function jobs_replay_changed() returns trigger language plpgsql as $$
begin
  if exists (select from jobs replay where replay_of is not null
                and not exists (select from jobs replayed where replayed.job_id = replay.replay_of)) then
    raise foreign_key_violation using message = 'A job cannot replay a job that does not exist.', table = 'jobs',
      constraint = 'jobs_replay_of_fkey';
  end if;
  return null;
end $$;

create function jobs_deleted() returns trigger language plpgsql as $$
begin
  if exists (select from gone join jobs replay on replay.replay_of = gone.job_id) then
    raise foreign_key_violation using message = 'A job that was replayed cannot be deleted before its replay.', table = 'jobs',
      constraint = 'jobs_replay_of_fkey';
  end if;
  delete from attempts using gone where attempts.job_id = gone.job_id;
  return null;
end $$;

create trigger jobs_replay_inserted after insert on jobs
  for each row when (new.replay_of is not null) execute function jobs_replay_inserted();
create trigger jobs_replay_changed after update of replay_of on jobs
  for each statement execute function jobs_replay_changed();
create trigger jobs_deleted after delete on jobs
  referencing old table as gone for each statement execute function jobs_deleted();

-- The second version of a row is wider than the first (owner, lease, start), so half a page was too little room: every fourth
-- acquire moved its row and changed all indexes. Measured: none does with 40.
alter table jobs set (fillfactor = 40);

-- A job's columns fit its state. One check that mostly asks what is null, in place of six that each compared the state: PostgreSQL
-- evaluates all of them for every version of a row. The rows that are there fit: they were checked by those six.
alter table jobs
  drop constraint jobs_lease_while_processing,
  drop constraint jobs_due_while_pending,
  drop constraint jobs_owner_while_processing,
  drop constraint jobs_finished_at_when_ended,
  drop constraint jobs_reason_when_dead,
  drop constraint jobs_result_when_done,
  add constraint jobs_columns_fit_state check (
    case
      when finished_at is not null then
        lease_until is null and due_at is null
        and case when reason is null then state = 'done' else state = 'dead' and result is null end
      when lease_until is not null then
        state = 'processing' and lease_owner is not null and due_at is null and reason is null and result is null
      else state = 'pending' and reason is null and result is null
    end
  ) not valid;
