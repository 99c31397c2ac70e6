import type { Teardown } from './teardown.ts'

export interface Suite {
  name: string
  summary: string
  /** The options as `--help` prints them. */
  options: string
  /** Whatever it starts it registers with `teardown`, so that an interrupt stops it too. */
  run(args: string[], teardown: Teardown): Promise<void>
}
