-- Acquiring writes a second version of every row that submit wrote. With half of each page empty it finds room beside the
-- first, and no index has to be told; with less room, every third row moved (measured: a third more time to acquire).
alter table jobs set (fillfactor = 50);
