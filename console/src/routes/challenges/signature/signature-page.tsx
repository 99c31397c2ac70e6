// The signature debugger: which line of the signed text differs. Everything is computed in this browser; nothing is sent.
import { compareLines, explainSignature, parseRequest, type LineDifference, type SignatureReport } from '@reeve/sdk'
import { useState } from 'react'
import { Page } from '../../../frame/page.tsx'
import { Area, Field, Form, type FormValues } from '../../../parts/controls/form.tsx'
import { Report } from './report.tsx'

const CRUMBS = [{ label: 'Challenges', to: '/console/challenges' }]

const EXAMPLE = `POST /solve HTTP/1.1
Authorization: RCS-HMAC-SHA256 keyId=…,ts=…,nonce=…,sig=…

{"api_version":"v2.1",…}`

export interface Explained {
  report: SignatureReport
  /** Null: the other side's text was not given. */
  differences: readonly LineDifference[] | null
}

export function SignaturePage() {
  const [explained, setExplained] = useState<Explained | null>(null)
  const check = async (values: FormValues) => {
    setExplained(null)
    setExplained(await explain(values))
  }
  return (
    <Page title="Check a signature" crumbs={CRUMBS}>
      <p className="mb-4 max-w-[72ch] text-quiet">
        Says which line of the signed text differs, as <code className="font-mono">reeve verify</code> does. The request
        and the secret stay in this browser.
      </p>
      <div className="grid items-start gap-x-8 gap-y-6 lg:grid-cols-2">
        <Form action="Check" onSubmit={check}>
          <Area
            name="request"
            label="Request"
            hint="As it was sent: request line, headers, an empty line, the body."
            required
            rows={10}
            spellCheck={false}
            placeholder={EXAMPLE}
            className="font-mono text-[13px]"
          />
          <Field
            name="secret"
            label="Secret"
            type="password"
            required
            autoComplete="off"
            spellCheck={false}
            hint="Of the key id in the header. It is not sent and not kept."
            className="font-mono"
          />
          <Area
            name="theirs"
            label="What the other side signed"
            hint="Its canonical string, to be compared line by line. Optional."
            rows={5}
            spellCheck={false}
            className="font-mono text-[13px]"
          />
        </Form>
        {explained !== null && <Report {...explained} />}
      </div>
    </Page>
  )
}

/** A refusal is thrown, and shown in the form. */
async function explain(values: FormValues): Promise<Explained> {
  const request = parseRequest(new TextEncoder().encode(values.text('request').trimStart()))
  if (request === null) {
    throw new Error(
      'This is no request. It begins with a line such as POST /solve HTTP/1.1 and has an Authorization header.',
    )
  }
  if (!isSecureContext) {
    throw new Error(
      'A browser computes signatures only on pages that came over HTTPS or from localhost. Use reeve verify.',
    )
  }
  const report = await explainSignature(request, { secrets: [values.text('secret')] })
  if (report === null) {
    throw new Error('The Authorization header is not RCS-HMAC-SHA256 keyId=…,ts=…,nonce=…,sig=….')
  }
  const theirs = values.optional('theirs')?.replaceAll('\r\n', '\n')
  return { report, differences: theirs === undefined ? null : compareLines(report.lines, theirs) }
}
