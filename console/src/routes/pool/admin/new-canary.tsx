import { Dialog } from '../../../parts/feedback/dialog.tsx'
import { Area, Field, Form, type FormValues } from '../../../parts/controls/form.tsx'
import { assertJsonObject } from '../../../parts/data/json-text.ts'
import { client } from '../../../session/client.ts'

export function NewCanary({ onClose, onAdded }: { onClose: () => void; onAdded: () => void }) {
  const add = async (values: FormValues) => {
    const [payloadText, outputText, region] = [values.text('payload'), values.text('output'), values.optional('region')]
    assertJsonObject('The payload', payloadText)
    assertJsonObject('The output', outputText)
    await client.poolAdmin.addCanary({ payloadText, outputText, ...(region === undefined ? {} : { region }) })
    onAdded()
  }
  return (
    <Dialog isOpen onClose={onClose} title="New canary" description="Each worker gets it at most once.">
      <Form action="Add" onSubmit={add}>
        <Area
          name="payload"
          label="Payload"
          hint="A JSON object that looks like those of real jobs."
          required
          rows={5}
          spellCheck={false}
          className="font-mono text-[13px]"
        />
        <Area
          name="output"
          label="Output"
          hint="The JSON object that an honest worker answers. Only its hash is kept."
          required
          rows={5}
          spellCheck={false}
          className="font-mono text-[13px]"
        />
        <Field name="region" label="Region" hint="Only workers there. Optional." maxLength={64} autoComplete="off" />
      </Form>
    </Dialog>
  )
}
