import type { ChallengeStory } from '@reeve/sdk'
import { useState } from 'react'
import { Button } from '../../parts/controls/button.tsx'
import { Dialog } from '../../parts/feedback/dialog.tsx'
import { Field, Form } from '../../parts/controls/form.tsx'
import { notify } from '../../parts/feedback/notify.ts'
import { client, queries } from '../../session/client.ts'

/** Asks where to. A challenge may be sent again, to the same Solver or to another. */
export function SendButton({
  challenge: { challenge_id: challengeId, sent_at: sentAt },
}: {
  challenge: ChallengeStory
}) {
  const [isOpen, setOpen] = useState(false)
  const isFirst = sentAt === null
  return (
    <>
      <Button look={isFirst ? 'main' : 'plain'} icon="challenge" onClick={() => setOpen(true)}>
        {isFirst ? 'Send' : 'Send again'}
      </Button>
      <Dialog
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title="Send to a Solver"
        description="The problem is sent, signed, without the answer and the rule. A Solver that does not answer is asked up to six times."
      >
        <Form
          action="Send"
          onSubmit={async (values) => {
            const url = values.optional('solver_url')
            await client.challenges.send(challengeId, url === undefined ? {} : { solver_url: url })
            setOpen(false)
            notify({ title: 'On its way', detail: 'The result appears here.' })
            await queries.invalidateQueries({ queryKey: ['challenges', 'challenge', challengeId] })
          }}
        >
          <Field
            name="solver_url"
            label="Solver"
            placeholder="https://solver.example.org"
            hint="Its address without /solve. Empty: the Solver of this server’s settings."
            type="url"
            autoComplete="off"
          />
        </Form>
      </Dialog>
    </>
  )
}
