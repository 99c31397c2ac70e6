// Pairing by rating: the player who has waited longest gets the opponent with the nearest rating, if it is within that
// player's window, which widens with the wait.

const WINDOW_START = 100
const WINDOW_PER_SECOND = 50

export interface RatedWait {
  rating: number
  waitedMs: number
}

export const windowOf = ({ waitedMs }: RatedWait): number => WINDOW_START + (WINDOW_PER_SECOND * waitedMs) / 1000

interface Link<T> {
  player: T
  before: Link<T> | null
  after: Link<T> | null
  isPaired: boolean
}

/** `waiting` is in the order of joining. */
export function pairByRating<T extends RatedWait>(waiting: readonly T[]): [T, T][] {
  const links = waiting.map((player): Link<T> => ({ player, before: null, after: null, isPaired: false }))
  const byRating = links.toSorted((a, b) => a.player.rating - b.player.rating)
  byRating.forEach((link, index) => {
    link.before = byRating[index - 1] ?? null
    link.after = byRating[index + 1] ?? null
  })

  const pairs: [T, T][] = []
  for (const link of links) {
    if (link.isPaired) continue
    const nearest = nearestOf(link)
    if (nearest === null || distance(link, nearest) > windowOf(link.player)) continue
    pairs.push([link.player, nearest.player])
    unlink(link)
    unlink(nearest)
  }
  return pairs
}

function nearestOf<T extends RatedWait>(link: Link<T>): Link<T> | null {
  const { before, after } = link
  if (before === null || after === null) return before ?? after
  return distance(link, before) <= distance(link, after) ? before : after
}

const distance = <T extends RatedWait>(a: Link<T>, b: Link<T>): number => Math.abs(a.player.rating - b.player.rating)

function unlink<T>(link: Link<T>): void {
  link.isPaired = true
  if (link.before !== null) link.before.after = link.after
  if (link.after !== null) link.after.before = link.before
}
