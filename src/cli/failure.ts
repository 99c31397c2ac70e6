/** Something a command could not do: one sentence for the user, and the exit code. */
export class CommandFailed extends Error {
  override name = 'CommandFailed'
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}
