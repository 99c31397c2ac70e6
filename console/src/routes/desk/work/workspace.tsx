// One task: what is known of it, its page as large as it can be, and the form for its solution.
import type { DeskTask } from '@reeve/sdk'
import { useState } from 'react'
import { useKeys } from '../../../frame/keys.ts'
import { Button, IconButton } from '../../../parts/controls/button.tsx'
import { StateBadge } from '../../../parts/data/state-badge.tsx'
import { isWaiting } from '../queue/queue-state.ts'
import { hasPage, placeOf, taskState, urgency } from '../task-words.ts'
import { Details } from './details.tsx'
import { useDraft } from './draft.ts'
import { Lock } from './lock.tsx'
import { PageFrame } from './page-frame.tsx'
import { SolutionForm } from './solution-form.tsx'
import { Unsolvable } from './unsolvable.tsx'
import type { Work } from './use-work.ts'
import { isolated } from '../../../parts/text/isolated.ts'

interface WorkspaceProps {
  task: DeskTask
  me: string
  isOperator: boolean
  work: Work
}

export function Workspace({ task, me, isOperator, work }: WorkspaceProps) {
  const [isMarking, setMarking] = useState(false)
  const [isPreviewing, setPreviewing] = useState(false)
  const [draft, changeDraft] = useDraft(task.uuid)
  const isMine = task.assigned_to === me && task.locked_until !== null
  return (
    <>
      <section aria-label="Task" className="flex min-h-0 min-w-0 flex-1 flex-col gap-3 max-lg:min-h-[70dvh]">
        <Head task={task} me={me} isMine={isMine} isOperator={isOperator} work={work} onMark={() => setMarking(true)} />
        {isMine && (
          <MineKeys
            hasPreview={task.preview_path !== null}
            onGiveBack={() => void work.giveBack(task)}
            onMark={() => setMarking(true)}
            onPreview={() => setPreviewing(!isPreviewing)}
          />
        )}
        {!isMine && <NotMine task={task} />}
        {isPreviewing && task.preview_path !== null && (
          <img
            src={task.preview_path}
            alt="What the program saw"
            className="max-h-[50dvh] self-start rounded-md border border-line object-contain"
          />
        )}
        {isMine && hasPage(task) && <PageFrame key={task.uuid} task={task} />}
        <Details
          task={task}
          cookies={draft.cookies}
          isOpen={!isMine || !hasPage(task)}
          onPreview={task.preview_path === null ? undefined : () => setPreviewing(!isPreviewing)}
        />
      </section>
      {isMine && (
        <aside className="min-h-0 w-full shrink-0 overflow-y-auto border-line lg:w-80 lg:border-l lg:pl-4 2xl:w-96">
          <SolutionForm
            key={task.uuid}
            task={task}
            draft={draft}
            onDraft={changeDraft}
            onSolve={(solution) => work.solve(task, solution)}
          />
        </aside>
      )}
      <Unsolvable
        isOpen={isMarking && isMine}
        onClose={() => setMarking(false)}
        onMark={(reason) => work.markUnsolvable(task, reason)}
      />
    </>
  )
}

interface MineKeysProps {
  hasPreview: boolean
  onGiveBack(): void
  onMark(): void
  onPreview(): void
}

function MineKeys({ hasPreview, onGiveBack, onMark, onPreview }: MineKeysProps) {
  useKeys({
    r: { about: 'Give the task back', run: onGiveBack },
    u: { about: 'Mark it as unsolvable', run: onMark },
    ...(hasPreview ? { v: { about: 'Show what the program saw', run: onPreview } } : {}),
  })
  return null
}

interface HeadProps extends WorkspaceProps {
  isMine: boolean
  onMark(): void
}

function Head({ task, me, isMine, isOperator, work, onMark }: HeadProps) {
  const { tone, word } = urgency(task.priority)
  return (
    <header className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <IconButton icon="cross" label="Close the task" onClick={work.close} className="-ml-2 lg:order-last" />
      <div className="min-w-0 flex-1 basis-48">
        <h2 className="truncate text-lead font-semibold" dir="auto">
          {task.domain}
        </h2>
        <p className="truncate text-quiet" dir="auto">
          {placeOf(task)}
        </p>
      </div>
      {tone !== 'quiet' && <StateBadge tone={tone} word={word} icon="warn" />}
      {isMine ? <Lock task={task} onRenew={() => work.renew(task.uuid)} /> : <StateBadge {...taskState(task, me)} />}
      {isMine && (
        <span className="flex gap-2">
          <Button onClick={() => void work.giveBack(task)}>
            Give back <kbd className="font-sans text-small text-quiet">R</kbd>
          </Button>
          <Button look="danger" onClick={onMark}>
            Unsolvable <kbd className="font-sans text-small">U</kbd>
          </Button>
        </span>
      )}
      {!isMine && isOperator && isWaiting(task) && (
        <Button look="main" onClick={() => void work.take(task)}>
          Claim
        </Button>
      )}
    </header>
  )
}

function NotMine({ task }: { task: DeskTask }) {
  if (isWaiting(task)) return null
  const sentences: Readonly<Record<string, string>> = {
    in_progress: `${isolated(task.assigned_to ?? 'Somebody')} works on it.`,
    solving: `${isolated(task.assigned_to ?? 'Somebody')} is solving it.`,
    solved: 'It is solved. Whoever asked has the solution.',
    expired: 'Nobody claimed it in time.',
    unsolvable: `It cannot be solved. ${task.last_error ?? ''}`,
  }
  return (
    <p role="status" className="rounded-md bg-raised px-3 py-2" dir="auto">
      {sentences[task.status]}
    </p>
  )
}
