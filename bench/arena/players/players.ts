export interface Players {
  /** Two players; resolves when both hear states. */
  addSession(): Promise<void>
}

export interface Hearing {
  /** A state came: returns the moment, for the next one. */
  onState(lastMs: number): number
  onLost(why: string): void
}
