// What the rest of the judge door sees of the sandbox. `openSandbox` (sandbox.ts) gives runners.

/** One runner: a long-lived helper process (or, with SANDBOX=exec, one helper process per run). Boxes are opened one after the other. */
export interface BoxRunner {
  /** A fresh box: namespaces, cgroup, root file system. One per submission, another one for compiling. */
  open(options: BoxOptions): Promise<Box>
  /** Kills what runs and ends the helper. Idempotent. */
  close(): Promise<void>
}

export interface BoxOptions {
  /**
   * Host folder that becomes /work in the box, where programs start: writable while compiling, read-only while running. When Reeve runs as
   * root, the folder itself (not what is in it) is given to the box's user.
   */
  workFolder: string
  writable: boolean
  /**
   * Further read-only host paths that a language needs beyond the minimal root (for example a JDK). They keep their names, so none can be
   * below /tmp, /work, /dev or /proc.
   */
  readOnlyPaths: readonly string[]
  /** The same for what gets another name in the box, whatever the host calls it. */
  mounts?: readonly Mount[]
  /** Kills what runs: `run` rejects with the signal's reason. The box still wants to be closed. */
  signal?: AbortSignal
}

export interface Mount {
  from: string
  to: string
}

export interface Box {
  /**
   * Runs one program with a fresh /tmp; nothing of it is left when this resolves. Never rejects for what the program did: only when the
   * helper broke (SandboxError), its line was not Judge JSON v1 for this run (ProtocolError), or the signal aborted.
   */
  run(run: RunRequest): Promise<RunReport>
  /**
   * Runs one program on several tests, one after the other: until one does not end normally, or its output is not its answer to the
   * byte. `onReport` gets the reports in order; it may throw. With SANDBOX=exec only the first test is run. Rejects as `run` does.
   */
  runSeries(run: SeriesRequest, onReport: (report: RunReport) => void): Promise<void>
  /** Ends what runs, and waits for that. The rest of the box goes before the runner opens another one, or closes. Idempotent. */
  close(): Promise<void>
}

export interface RunRequest {
  jobId: string
  attemptId: number
  /** The program by its path in the box, then its arguments. */
  argv: readonly string[]
  env: Readonly<Record<string, string>>
  /**
   * Host paths, opened by the helper outside the box: a regular file, or a FIFO for interactive problems. null is /dev/null. Files for
   * output are created or emptied. A FIFO is opened without waiting for its other end: whoever connects two programs holds both ends
   * until both have started.
   */
  stdinPath: string | null
  stdoutPath: string | null
  stderrPath: string | null
  cpuMs: number
  /** Time spent waiting for a core is not counted, up to three times this limit. */
  wallMs: number
  memoryBytes: number
  /** Threads count, too. */
  processesMax: number
  /** Of standard output, and as much again of standard error. What goes into a FIFO is not counted: its reader decides. */
  outputBytesMax: number
  /** Of any file that the program writes; never less than outputBytesMax. */
  fileBytesMax: number
  /** Of all files in a writable /work together, in blocks on disk. */
  diskBytesMax: number
  stackBytes: number
}

/** A series of at most SERIES_MAX tests. */
export interface SeriesRequest extends Omit<RunRequest, 'stdinPath'> {
  tests: readonly SeriesTest[]
}

export interface SeriesTest {
  inputPath: string
  answerPath: string
}

/** So that the paths fit into one command. */
export const SERIES_MAX = 14

/** Judge JSON v1 (docs/judge-sandbox.md), parsed and checked against jobId and attemptId, with what Reeve adds. */
export interface RunReport {
  verdict: 'OK' | 'TLE' | 'MLE' | 'OLE' | 'RE' | 'SE'
  timeMs: number
  wallMs: number
  memKb: number
  /** 128 + the signal for a program that a signal ended. */
  exitCode: number
  exitSignal: number
  /** Empty, or the failing call and its remedy; then the verdict is SE. */
  sandboxError: string
  outputBytes: number
  /** The machine was too busy for the wall clock to mean anything: run it again. */
  starved: boolean
  /** Without cgroups only: shown in every result. */
  degraded: boolean
  /** In a series: it ended normally, and a small output is the answer to the byte. */
  same: boolean
}
