// What is handed in for a task: the answers of its form, or cookies, a token or a session.
import type { DeskTask } from '@reeve/sdk'
import { useState } from 'react'
import { useKeys } from '../../../frame/keys.ts'
import { Button } from '../../../parts/controls/button.tsx'
import { inputClass } from '../../../parts/controls/form.tsx'
import { notify } from '../../../parts/feedback/notify.ts'
import { client } from '../../../session/client.ts'
import { messageOf } from '../../../session/errors.ts'
import { CookieTable } from './cookie-table.tsx'
import { solutionOf, withCookies, type Draft, type DraftKind } from './draft.ts'
import { Question } from './question.tsx'

const KINDS: readonly (readonly [DraftKind, string])[] = [
  ['cookie', 'Cookies'],
  ['token', 'Token'],
  ['session', 'Session'],
]

interface SolutionFormProps {
  task: DeskTask
  draft: Draft
  onDraft(part: Partial<Draft>): void
  /** Hands it in and goes on to the next task. Throws what the server refused. */
  onSolve(solution: ReturnType<typeof solutionOf>): Promise<void>
}

export function SolutionForm({ task, draft, onDraft, onSolve }: SolutionFormProps) {
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const attempt = async (work: () => Promise<void>) => {
    setBusy(true)
    setError(null)
    try {
      await work()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  const solve = () => void (isBusy ? undefined : attempt(async () => onSolve(solutionOf(task, draft))))
  const propose = () =>
    attempt(async () => {
      const cookies = await client.desk.proposedCookies(task.uuid)
      if (cookies.length === 0) notify({ title: 'The page has not set any cookie yet', tone: 'warn' })
      else onDraft({ kind: 'cookie', cookies: withCookies(draft.cookies, cookies) })
    })
  useKeys({
    'mod+Enter': { about: 'Solve, and open the next task', run: solve },
    ...(task.form === null ? { p: { about: 'Take the cookies of the page', run: () => void propose() } } : {}),
  })

  return (
    <section aria-label="Solution" className="flex flex-col gap-3">
      {task.form === null ? (
        <Free draft={draft} onDraft={onDraft} onPropose={() => void propose()} />
      ) : (
        <Question form={task.form} answers={draft.answers} onChange={(answers) => onDraft({ answers })} />
      )}
      <More draft={draft} onDraft={onDraft} />
      {error !== null && (
        <p role="alert" className="rounded-md bg-bad-bg px-3 py-2 text-bad-fg">
          {messageOf(error)}
        </p>
      )}
      <Button look="main" isBusy={isBusy} onClick={solve}>
        Solve and next <kbd className="font-sans text-small">Ctrl Enter</kbd>
      </Button>
    </section>
  )
}

interface FreeProps {
  draft: Draft
  onDraft(part: Partial<Draft>): void
  onPropose(): void
}

function Free({ draft, onDraft, onPropose }: FreeProps) {
  return (
    <>
      <div role="radiogroup" aria-label="Kind of solution" className="flex gap-1">
        {KINDS.map(([kind, label]) => (
          <Button
            key={kind}
            role="radio"
            aria-checked={draft.kind === kind}
            look={draft.kind === kind ? 'main' : 'bare'}
            onClick={() => onDraft({ kind })}
          >
            {label}
          </Button>
        ))}
      </div>
      {draft.kind === 'cookie' && (
        <>
          <Button onClick={onPropose}>
            Take the cookies of the page <kbd className="font-sans text-small">P</kbd>
          </Button>
          <CookieTable rows={draft.cookies} onChange={(cookies) => onDraft({ cookies })} />
        </>
      )}
      {draft.kind === 'token' && (
        <textarea
          aria-label="Token"
          rows={5}
          spellCheck={false}
          className={`${inputClass} font-mono text-[13px]`}
          value={draft.token}
          onChange={({ currentTarget }) => onDraft({ token: currentTarget.value })}
        />
      )}
      {draft.kind === 'session' && (
        <textarea
          aria-label="Session, an object in JSON"
          rows={8}
          spellCheck={false}
          placeholder={'{"cookies": {"name": "value"}}'}
          className={`${inputClass} font-mono text-[13px]`}
          value={draft.session}
          onChange={({ currentTarget }) => onDraft({ session: currentTarget.value })}
        />
      )}
    </>
  )
}

function More({ draft, onDraft }: Omit<FreeProps, 'onPropose'>) {
  return (
    <details open={draft.notes !== '' || draft.userAgent !== ''}>
      <summary className="text-quiet">Notes and user agent</summary>
      <div className="mt-2 flex flex-col gap-2">
        <input
          aria-label="Notes"
          placeholder="Notes"
          className={inputClass}
          value={draft.notes}
          onChange={({ currentTarget }) => onDraft({ notes: currentTarget.value })}
        />
        <input
          aria-label="User agent"
          placeholder="User agent, if it is another one"
          className={inputClass}
          value={draft.userAgent}
          onChange={({ currentTarget }) => onDraft({ userAgent: currentTarget.value })}
        />
      </div>
    </details>
  )
}
