import type { ActiveListener } from '../../../core/identity/accounts.ts'

const SET_LISTED = `update players set is_listed = $2 where user_id = $1`

/** A closed account leaves the leaderboard, in the transaction that closes it, and returns with its rating. */
export const setListed: ActiveListener = async (tx, accountId, isActive) => {
  await tx.query(SET_LISTED, [accountId, isActive])
}
