import type { ProblemDetail } from '@reeve/sdk'
import { Block } from '../submissions/sample-difference.tsx'

export function Samples({ problem: { samples } }: { problem: ProblemDetail }) {
  if (samples.length === 0) return null
  return (
    <section aria-label="Samples" className="mt-6 flex flex-col gap-4">
      {samples.map(({ name, input, output }, n) => (
        <div key={name} className="flex flex-col gap-2">
          <h2 className="font-medium">Sample {n + 1}</h2>
          <div className="grid gap-2 sm:grid-cols-2">
            <Block label={`Input of sample ${n + 1}`} shown="Input" text={input} />
            <Block label={`Output of sample ${n + 1}`} shown="Output" text={output} />
          </div>
        </div>
      ))}
    </section>
  )
}
