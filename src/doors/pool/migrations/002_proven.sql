-- Canaries that a worker has passed since others last disagreed with it. Until now they were not told apart from the older ones: what is
-- known of a worker with whom nobody ever disagreed is all that it has passed.
alter table pool_workers add column proven integer not null default 0;
update pool_workers set proven = canaries_passed where disagreed = 0;
