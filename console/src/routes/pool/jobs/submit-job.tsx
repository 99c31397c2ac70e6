import { Field as Base } from '@base-ui/react/field'
import { useNavigate } from '@tanstack/react-router'
import { Dialog } from '../../../parts/feedback/dialog.tsx'
import { Field, Form, inputClass, Labelled, type FormValues } from '../../../parts/controls/form.tsx'
import { assertJsonObject } from '../../../parts/data/json-text.ts'
import { client, queries } from '../../../session/client.ts'

export function SubmitJob({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const navigate = useNavigate()
  const submit = async (values: FormValues) => {
    const payloadText = values.text('payload')
    assertJsonObject('The payload', payloadText)
    const [replicas, quorum] = [values.number('replicas'), values.number('quorum')]
    const region = values.optional('region')
    const job = {
      payload: {},
      ...(replicas === undefined ? {} : { replicas }),
      ...(quorum === undefined ? {} : { quorum }),
      ...(region === undefined ? {} : { requirements: { region } }),
    }
    const { job_id: jobId } = await client.pool.submit(job, { payloadText })
    void queries.invalidateQueries({ queryKey: ['pool', 'jobs'] })
    await navigate({ to: '/console/pool/jobs/$jobId', params: { jobId } })
  }
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="Submit a job">
      <Form onSubmit={submit} action="Submit">
        <Labelled name="payload" label="Payload" hint="A JSON object. Workers get it byte for byte.">
          <Base.Control
            required
            render={<textarea rows={6} spellCheck={false} className={`${inputClass} min-h-32 font-mono text-[13px]`} />}
          />
        </Labelled>
        <div className="grid grid-cols-2 gap-4">
          <Field
            name="replicas"
            label="Replicas"
            type="number"
            min={1}
            max={25}
            defaultValue={1}
            hint="Workers of different owners that run it."
          />
          <Field
            name="quorum"
            label="Quorum"
            type="number"
            min={1}
            max={25}
            hint="How many must agree. Empty: the majority."
          />
        </div>
        <Field name="region" label="Region" hint="Only workers there. Optional." maxLength={64} autoComplete="off" />
      </Form>
    </Dialog>
  )
}
