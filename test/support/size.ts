// How much a test does: more under `npm run test:slow` than at every push.

/** Cases of a property test. */
export const cases = (usual: number): number => usual * Number(process.env['REEVE_TEST_FUZZ'] ?? 1)

/** Rows of a table that is filled to look at plans. */
export const rows = (usual: number): number => usual * Number(process.env['REEVE_TEST_ROWS'] ?? 1)

/** Jobs or matches that are under way while processes are killed. */
export const stormJobs = (usual: number): number => usual * Number(process.env['REEVE_TEST_STORM'] ?? 1)

/** Rounds of a race. */
export const raceRounds = (usual: number): number => usual * Number(process.env['REEVE_TEST_RACES'] ?? 1)
