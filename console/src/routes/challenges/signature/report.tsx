import { CANONICAL_LINES, type LineDifference, type SignatureReport } from '@reeve/sdk'
import { Copy } from '../../../parts/controls/copy.tsx'
import { Fact, Facts } from '../../../parts/data/facts.tsx'
import { StateBadge } from '../../../parts/data/state-badge.tsx'
import { Time } from '../../../parts/data/time.tsx'
import type { Explained } from './signature-page.tsx'

export function Report({ report, differences }: Explained) {
  const { auth, lines, signers, mistake } = report
  const isRight = signers.length > 0
  return (
    <section aria-label="Result" aria-live="polite" className="min-w-0">
      <h2 className="mb-2 flex items-center gap-3 text-lead font-semibold">
        {isRight ? <StateBadge tone="good" word="Verifies" /> : <StateBadge tone="bad" word="Does not verify" />}
      </h2>
      <p className="mb-4 max-w-[72ch]">{sentenceOf(report)}</p>
      <div className="mb-4">
        <Facts>
          <Fact name="Key id">
            <Copy text={auth.keyId} label="key id" />
          </Fact>
          <Fact name="Signed">
            <Time at={new Date(auth.ts * 1000).toISOString()} />
          </Fact>
        </Facts>
      </div>
      <SignedText title="What is to be signed" lines={lines} marked={mistake === null ? [] : [mistake.line]} />
      {mistake !== null && <SignedText title="What was signed" lines={mistake.lines} marked={[mistake.line]} />}
      {differences !== null && <Compared differences={differences} />}
    </section>
  )
}

function sentenceOf({ signers, mistake }: SignatureReport): string {
  if (signers.length > 0) return 'The signature was made with this secret, over these lines.'
  return mistake === null
    ? 'None of the usual mistakes explains it. Check the secret, and the body byte for byte: a form or an editor may have changed its line ends.'
    : `It would verify if ${mistake.sentence}.`
}

function SignedText({ title, lines, marked }: { title: string; lines: readonly string[]; marked: readonly number[] }) {
  return (
    <>
      <h3 className="mb-1 flex items-center gap-3 font-medium">
        {title} <Copy text={lines.join('\n')} shown="copy" label={title} />
      </h3>
      <ol aria-label={title} className="mb-4 rounded-md border border-line bg-raised py-1 font-mono text-[13px]">
        {lines.map((line, index) => {
          const isMarked = marked.includes(index + 1)
          return (
            <li
              key={CANONICAL_LINES[index]}
              className={`grid grid-cols-[16px_96px_minmax(0,1fr)] gap-x-3 px-3 py-0.5 ${isMarked ? 'bg-bad-bg text-bad-fg' : ''}`}
            >
              <span className={isMarked ? '' : 'text-quiet'}>{index + 1}</span>
              <span className={isMarked ? '' : 'text-quiet'}>
                {CANONICAL_LINES[index]}
                {isMarked && <span className="sr-only"> differs:</span>}
              </span>
              <span className="wrap-anywhere">{line}</span>
            </li>
          )
        })}
      </ol>
    </>
  )
}

function Compared({ differences }: { differences: readonly LineDifference[] }) {
  if (differences.length === 0) return <p className="text-good-fg">The other side signed the same lines.</p>
  return (
    <>
      <h3 className="mb-1 font-medium">The other side signed something else</h3>
      <ul aria-label="Differences" className="flex flex-col gap-2">
        {differences.map(({ line, expected, got }) => (
          <li key={line} className="rounded-md bg-bad-bg px-3 py-2 text-bad-fg">
            Line {line}
            {CANONICAL_LINES[line - 1] !== undefined && `, ${CANONICAL_LINES[line - 1]}`}: expected{' '}
            <code className="font-mono text-[13px] wrap-anywhere" dir="auto">
              {shown(expected)}
            </code>
            , got{' '}
            <code className="font-mono text-[13px] wrap-anywhere" dir="auto">
              {shown(got)}
            </code>
          </li>
        ))}
      </ul>
    </>
  )
}

const shown = (text: string): string => (text === '' ? 'nothing' : text)
