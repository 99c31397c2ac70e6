// The same game for all: two players, ten states a second, five inputs a second from each player.

export const TICK_MS = 100
/** An input with every second state: five a second. */
export const STATES_PER_INPUT = 2
