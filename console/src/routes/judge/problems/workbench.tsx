// The editor, what can be done with what is in it, and what became of that.
import type { ProblemDetail } from '@reeve/sdk'
import { useMutation } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { useKeys } from '../../../frame/keys.ts'
import { Button } from '../../../parts/controls/button.tsx'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { inputClass } from '../../../parts/controls/form.tsx'
import { Skeleton } from '../../../parts/feedback/skeleton.tsx'
import { client, queries } from '../../../session/client.ts'
import { chooseLanguage, chosenLanguage, draftOf, inputOf, keepDraft, keepInput } from '../editor/drafts.ts'
import { VerdictPanel } from '../submissions/verdict-panel.tsx'

const CodeEditor = lazy(async () => ({ default: (await import('../editor/code-editor.tsx')).CodeEditor }))

const LATEST = 'reeve.judge.latest.'

export function Workbench({ problem }: { problem: ProblemDetail }) {
  const { problem_id: id, languages, tests, interactive } = problem
  const [language, setLanguage] = useState(() => chosenLanguage(languages))
  const [code, setCode] = useState(() => draftOf(id, language))
  const [input, setInput] = useState(() => inputOf(id) ?? problem.samples[0]?.input ?? '')
  const [latest, setLatest] = useState(() => sessionStorage.getItem(LATEST + id))

  const asked = useMutation({
    mutationFn: (what: 'submit' | 'run') =>
      what === 'submit'
        ? client.judge.submit({ problem_id: id, language, code }, { idempotencyKey: crypto.randomUUID() })
        : client.judge.run(id, { language, code, input }),
    onSuccess: ({ job_id: jobId }) => {
      sessionStorage.setItem(LATEST + id, jobId)
      setLatest(jobId)
      void queries.invalidateQueries({ queryKey: ['judge', 'submissions'] })
    },
  })
  const submit = () => asked.mutate('submit')
  useKeys({ 'mod+Enter': { about: 'Submit the program', run: submit } })

  const choose = (next: string) => {
    chooseLanguage(next)
    setLanguage(next)
    setCode(draftOf(id, next))
  }
  if (languages.length === 0) return <Empty title="Nobody judges at the moment">No worker offers a language.</Empty>
  return (
    <section aria-label="Your program" tabIndex={0} className="flex min-w-0 flex-col gap-3 lg:overflow-y-auto">
      <div className="flex flex-wrap items-center gap-2">
        <LanguageChoice languages={languages} language={language} onChoose={choose} />
        <Button look="main" icon="run" isBusy={asked.isPending} onClick={submit} className="ml-auto">
          Submit
        </Button>
      </div>
      <div className={`flex min-h-48 shrink-0 flex-col ${latest === null ? 'h-[min(56dvh,640px)]' : 'h-[min(38dvh,480px)]'}`}>
        <Suspense fallback={<Skeleton lines={8} />}>
          <CodeEditor
            id={`${id} ${language}`}
            text={code}
            language={language}
            label="Program"
            onSubmit={submit}
            onChange={(next) => {
              setCode(next)
              keepDraft(id, language, next)
            }}
          />
        </Suspense>
      </div>
      {!interactive && (
        <OwnInput
          input={input}
          isBusy={asked.isPending}
          onChange={(next) => {
            setInput(next)
            keepInput(id, next)
          }}
          onRun={() => asked.mutate('run')}
        />
      )}
      {asked.isError && <ErrorBox title="The program was not taken" error={asked.error} />}
      {latest !== null && (
        <section aria-label="Verdict" className="border-t border-line pt-3">
          <VerdictPanel key={latest} jobId={latest} tests={tests} />
        </section>
      )}
    </section>
  )
}

interface LanguageChoiceProps {
  languages: ProblemDetail['languages']
  language: string
  onChoose: (language: string) => void
}

function LanguageChoice({ languages, language, onChoose }: LanguageChoiceProps) {
  const version = languages.find(({ id }) => id === language)?.version
  return (
    <label className="flex min-w-0 items-center gap-2">
      <span className="sr-only">Language</span>
      <select
        value={language}
        onChange={(event) => onChoose(event.currentTarget.value)}
        className={`${inputClass} w-auto`}
        title={version ?? undefined}
      >
        {languages.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

interface OwnInputProps {
  input: string
  isBusy: boolean
  onChange: (input: string) => void
  onRun: () => void
}

function OwnInput({ input, isBusy, onChange, onRun }: OwnInputProps) {
  return (
    <details>
      <summary className="w-fit rounded-sm font-medium">Run with your own input</summary>
      <div className="mt-2 flex flex-col gap-2">
        <textarea
          aria-label="Your own input"
          value={input}
          rows={4}
          spellCheck={false}
          onChange={(event) => onChange(event.currentTarget.value)}
          className={`${inputClass} font-mono`}
        />
        <Button icon="run" isBusy={isBusy} onClick={onRun} className="self-start">
          Run
        </Button>
      </div>
    </details>
  )
}
