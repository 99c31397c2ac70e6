import { Field, Form } from '../parts/controls/form.tsx'
import { signIn } from '../session/session.tsx'

const NOT_KEPT =
  'The browser did not keep the session. Open the console over https or as localhost, or set PUBLIC_URL to the http address that you use.'

export function SignInForm() {
  return (
    <Form
      action="Sign in"
      onSubmit={async (values) => {
        if (!(await signIn(values.text('username'), values.text('password')))) throw new Error(NOT_KEPT)
      }}
    >
      <Field name="username" label="Name" autoComplete="username" required autoCapitalize="none" />
      <Field name="password" label="Password" type="password" autoComplete="current-password" required />
    </Form>
  )
}
