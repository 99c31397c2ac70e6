// The form of a new challenge: a problem, what the answer must look like, and how an answer is checked.
import { parseExact, type NewChallenge, type ValidationRule } from '@reeve/sdk'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Dialog } from '../../parts/feedback/dialog.tsx'
import { Area, Check, Choice, Field, Form, type FormValues } from '../../parts/controls/form.tsx'
import { client } from '../../session/client.ts'

const KINDS = [
  { value: 'math', label: 'Math: an expression' },
  { value: 'text', label: 'Text: an operation on a text' },
  { value: 'json', label: 'Another, as JSON' },
]

const OPERATIONS = [
  'upper',
  'lower',
  'title',
  'reverse',
  'reverse_words',
  'trim',
  'collapse_spaces',
  'length',
  'word_count',
  'line_count',
  'sort_lines',
  'unique_lines',
  'sort_words',
  'base64_encode',
  'base64_decode',
  'sha256',
].map((value) => ({ value, label: value.replaceAll('_', ' ') }))

const RULES = [
  { value: 'ExactMatch', label: 'The same text' },
  { value: 'NumericTolerance', label: 'The same number, within a tolerance' },
  { value: 'Regex', label: 'A regular expression matches' },
]

export function NewChallengeDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title="New challenge"
      description="The rule and the answer stay on this server. Only the problem is sent."
    >
      <NewChallengeForm />
    </Dialog>
  )
}

function NewChallengeForm() {
  const navigate = useNavigate()
  const [kind, setKind] = useState('math')
  const [rule, setRule] = useState('ExactMatch')
  const create = async (values: FormValues) => {
    const { challenge_id: challengeId } = await client.challenges.create(challengeOf(values, kind, rule))
    await navigate({ to: '/console/challenges/$challengeId', params: { challengeId } })
  }
  return (
    <Form action="Create" onSubmit={create}>
      <Choice
        name="kind"
        label="Problem"
        options={KINDS}
        value={kind}
        onChange={({ currentTarget }) => setKind(currentTarget.value)}
      />
      {kind === 'math' && (
        <Field name="expression" label="Expression" placeholder="17*23+4" required autoComplete="off" />
      )}
      {kind === 'text' && (
        <>
          <Choice name="operation" label="Operation" options={OPERATIONS} />
          <Area name="text" label="Text" required />
        </>
      )}
      {kind === 'json' && (
        <Area
          name="problem"
          label="Problem as JSON"
          hint="An object with a type that the Solver knows."
          placeholder={'{"type": "captcha", "question": "…"}'}
          className="font-mono text-[13px]"
          spellCheck={false}
          required
        />
      )}
      <Field
        name="output_spec"
        label="Output, as JSON"
        hint={'Optional: what the answer must look like, such as {"format": "decimal", "digits": 4}.'}
        className="font-mono text-[13px]"
        autoComplete="off"
      />
      <Field name="answer" label="Answer" hint="What you expect. It is never sent." required autoComplete="off" />
      <Choice
        name="rule"
        label="An answer is correct if it is"
        options={RULES}
        value={rule}
        onChange={({ currentTarget }) => setRule(currentTarget.value)}
      />
      {rule === 'ExactMatch' && <Check name="case_sensitive" label="Upper and lower case differ" defaultChecked />}
      {rule === 'NumericTolerance' && (
        <Field name="tolerance" label="Tolerance" type="number" min={0} step="any" defaultValue="0" />
      )}
      {rule === 'Regex' && (
        <Field name="pattern" label="Pattern" hint="Of RE2." className="font-mono text-[13px]" required />
      )}
      <Field
        name="challenge_id"
        label="Name"
        hint="Optional: letters, digits, dots, dashes and underscores. Without one, the server chooses."
        autoComplete="off"
      />
    </Form>
  )
}

function challengeOf(values: FormValues, kind: string, rule: string): NewChallenge {
  const outputSpec = values.optional('output_spec')
  const name = values.optional('challenge_id')
  return {
    problem: problemOf(values, kind),
    validation_rule: ruleOf(values, rule),
    answer: values.text('answer'),
    ...(outputSpec === undefined ? {} : { output_spec: parsed(outputSpec, 'The output') }),
    ...(name === undefined ? {} : { challenge_id: name }),
  }
}

function problemOf(values: FormValues, kind: string): NewChallenge['problem'] {
  if (kind === 'math') return { type: 'math', expression: values.text('expression') }
  if (kind === 'text') return { type: 'text', operation: values.text('operation'), text: values.text('text') }
  const problem = parsed(values.text('problem'), 'The problem')
  if (!isProblem(problem)) throw new Error('The problem is not an object with a type.')
  return problem
}

const isProblem = (value: unknown): value is NewChallenge['problem'] =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'

function ruleOf(values: FormValues, rule: string): ValidationRule {
  if (rule === 'NumericTolerance') {
    return { type: 'NumericTolerance', params: { tolerance: values.number('tolerance') ?? 0 } }
  }
  if (rule === 'Regex') return { type: 'Regex', params: { pattern: values.text('pattern') } }
  return { type: 'ExactMatch', params: { case_sensitive: values.has('case_sensitive') } }
}

function parsed(text: string, what: string): unknown {
  try {
    return parseExact(text)
  } catch {
    throw new Error(`${what} is not JSON.`)
  }
}
