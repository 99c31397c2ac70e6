import type { Found } from '../nav.ts'
import { reader } from './reading.ts'

/** For the palette. */
export async function findPlayer(text: string): Promise<readonly Found[]> {
  const players = await reader.findPlayers(text)
  return players.map(({ userId, username, rating }) => ({
    to: `/console/arena/players/${userId}`,
    label: username,
    icon: 'arena',
    about: `Player, ${rating}`,
  }))
}
