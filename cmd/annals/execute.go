package main

import "context"

// executeCommand is `annals execute`.
type executeCommand struct {
	File   string `arg:"" optional:"" default:"-" help:"File of the call's body. Default: standard input."`
	Target `embed:""`
}

// Help is printed below the flags.
func (executeCommand) Help() string {
	return `Examples:
  echo '{"type":"reload_metadata","args":{}}' | annals execute
  annals execute calls.json --url http://localhost:8080
The answer is printed as it is.`
}

// Run implements kong's command.
func (c *executeCommand) Run(ctx context.Context, con console, given typed) error {
	body, err := con.readFile(c.File)
	if err != nil {
		return err
	}
	return c.on(ctx, con, given, func(s *service) error {
		var got answer
		err := con.busy("executing", func() (err error) {
			got, err = s.post(ctx, body)
			return err
		})
		if err != nil {
			return err
		}
		return con.printJSON(got.body)
	})
}
