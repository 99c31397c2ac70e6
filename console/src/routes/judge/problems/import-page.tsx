// A package from this computer: chosen, sent, and what the server says about it.
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { plural } from '../../../clock/format.ts'
import { Page } from '../../../frame/page.tsx'
import { Button, buttonClass } from '../../../parts/controls/button.tsx'
import { inputClass } from '../../../parts/controls/form.tsx'
import { StateBadge } from '../../../parts/data/state-badge.tsx'
import { client, queries } from '../../../session/client.ts'
import { messageOf } from '../../../session/errors.ts'
import { Block } from '../submissions/sample-difference.tsx'

const CRUMBS = [{ label: 'Judge', to: '/console/judge' }]

/** As the server has it: letters, digits, dots, hyphens, underscores. */
const idFrom = (file: string): string =>
  file
    .replace(/\.zip$/i, '')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 64)

export function ImportPage() {
  const [file, setFile] = useState<File | null>(null)
  const [id, setId] = useState('')
  const sent = useMutation({
    mutationFn: async () => {
      if (file === null) throw new Error('Choose a zip first.')
      return client.judge.putProblem(id, new Uint8Array(await file.arrayBuffer()))
    },
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['judge'] }),
  })
  return (
    <Page title="Import a package" crumbs={CRUMBS}>
      <form
        className="flex max-w-[72ch] flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          sent.mutate()
        }}
      >
        <p className="text-quiet">
          A zip in the Kattis or ICPC format, or of N.in and N.out files. A problem of the same id is replaced; submissions
          that were made before keep their verdict.
        </p>
        <label className="flex flex-col gap-1">
          <span className="font-medium">Package</span>
          <input
            type="file"
            accept=".zip,application/zip"
            required
            className={`${inputClass} py-1.5`}
            onChange={(event) => {
              const chosen = event.currentTarget.files?.[0] ?? null
              setFile(chosen)
              if (chosen !== null) setId(idFrom(chosen.name))
            }}
          />
        </label>
        <label className="flex flex-col gap-1">
          <span className="font-medium">Problem id</span>
          <input
            value={id}
            required
            pattern="[A-Za-z0-9][A-Za-z0-9._\-]{0,63}"
            onChange={(event) => setId(event.currentTarget.value)}
            className={inputClass}
          />
        </label>
        <Button type="submit" look="main" isBusy={sent.isPending} className="self-start">
          {sent.isPending ? 'Reading and checking…' : 'Import'}
        </Button>
      </form>
      <section aria-label="Report" aria-live="polite" className="mt-6 flex max-w-[100ch] flex-col gap-3">
        {sent.data !== undefined && (
          <>
            <p className="flex flex-wrap items-center gap-2">
              <StateBadge tone="good" word="Imported" />
              <span className="font-medium" dir="auto">
                {sent.data.title}
              </span>
              <span className="text-quiet">{plural(sent.data.tests, 'test')}</span>
            </p>
            <Link
              to="/console/judge/problems/$problem"
              params={{ problem: sent.data.problem_id }}
              className={buttonClass('plain', 'self-start')}
            >
              Open the problem
            </Link>
          </>
        )}
        {sent.isError && (
          <>
            <p>
              <StateBadge tone="bad" word="Not imported" />
            </p>
            <Block label="What to fix" text={messageOf(sent.error)} />
          </>
        )}
      </section>
    </Page>
  )
}
