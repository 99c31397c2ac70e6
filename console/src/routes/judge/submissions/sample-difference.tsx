// A sample that failed: its input, and where the output differs from the expected one, line by line.
import type { SubmissionTest } from '@reeve/sdk'
import { diffLines } from 'diff'
import { Copy } from '../../../parts/controls/copy.tsx'

export function SampleDifference({ test }: { test: SubmissionTest }) {
  const { input = '', expected, output = '', stderr = '', message } = test
  return (
    <div className="flex flex-col gap-3">
      {message !== undefined && <p dir="auto">{message}</p>}
      <Block label="Input" text={input} />
      {expected === undefined ? (
        <Block label="Output" text={output} />
      ) : (
        <Difference was={expected} is={output} labels={['Expected', 'Got']} />
      )}
      {stderr !== '' && <Block label="Standard error" text={stderr} />}
    </div>
  )
}

export function Block({ label, shown = label, text }: { label: string; shown?: string; text: string }) {
  return (
    <section aria-label={label}>
      <div className="flex items-center justify-between gap-2 pb-1">
        <span className="text-small font-medium text-quiet">{shown}</span>
        {text !== '' && <Copy text={text} shown="" label={label.toLowerCase()} />}
      </div>
      <pre
        tabIndex={0}
        className="max-h-72 overflow-auto rounded-md border border-line bg-raised p-2 font-mono text-[13px] whitespace-pre"
      >
        {text === '' ? <span className="text-quiet">(empty)</span> : text}
      </pre>
    </section>
  )
}

interface DifferenceProps {
  was: string
  is: string
  labels: readonly [was: string, is: string]
}

/** Lines of both texts in one column: `-` only in the first, `+` only in the second. */
export function Difference({ was, is, labels }: DifferenceProps) {
  const parts = diffLines(was, is, { ignoreNewlineAtEof: true })
  const lines = parts.flatMap(({ value, added, removed }) => {
    const kind = added ? 'added' : removed ? 'removed' : 'same'
    return value
      .replace(/\n$/, '')
      .split('\n')
      .map((text) => ({ text, kind }) as const)
  })
  return (
    <section aria-label={`${labels[0]} and ${labels[1]}`}>
      <div className="flex flex-wrap items-center gap-x-4 pb-1 text-small font-medium">
        <span className="text-bad-fg">− {labels[0]}</span>
        <span className="text-good-fg">+ {labels[1]}</span>
      </div>
      <pre
        tabIndex={0}
        className="max-h-[60dvh] overflow-auto rounded-md border border-line bg-raised py-2 font-mono text-[13px]"
      >
        {lines.map(({ text, kind }, n) => (
          <span key={n} className={`block min-w-fit px-2 whitespace-pre ${LINE_CLASS[kind]}`}>
            {MARK[kind]} {text}
          </span>
        ))}
      </pre>
    </section>
  )
}

const MARK = { added: '+', removed: '−', same: ' ' } as const
const LINE_CLASS = { added: 'bg-good-bg text-good-fg', removed: 'bg-bad-bg text-bad-fg', same: '' } as const
