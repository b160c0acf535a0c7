// One image by Farebox: price, submit, wait, download.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"time"
)

const (
	triesMost = 5
	// Longer than the 60 seconds for which the service holds a status call.
	callTimeout = 90 * time.Second
)

// Refused is an error reply of the service. Programs should use Code; Message is for people.
type Refused struct {
	Status  int
	Code    string
	Message string
}

func (r *Refused) Error() string {
	return fmt.Sprintf("%s: %s", r.Code, r.Message)
}

type client struct {
	base string
	key  string
	http *http.Client
}

// call sends the body as JSON and reads the reply into result. Temporary failures are retried, which
// is safe: every POST here has an Idempotency-Key or changes nothing.
func (c *client) call(ctx context.Context, method, path, job string, body, result any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	for try := 1; ; try++ {
		wait, err := c.once(ctx, method, path, job, text, result)
		if err == nil || wait < 0 || try == triesMost {
			return err
		}
		if wait == 0 {
			wait = time.Duration(try) * time.Second
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// once makes one attempt. Its duration says how long to wait before the next: negative for no
// retry, 0 if the service did not say.
func (c *client) once(
	ctx context.Context, method, path, job string, body []byte, result any,
) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	req.Header.Set("Authorization", "Key "+c.key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if job != "" {
		req.Header.Set("Idempotency-Key", job)
	}
	reply, err := c.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return 0, err
	}
	if reply.StatusCode < 300 {
		return -1, json.Unmarshal(text, result)
	}
	refused := refusal(reply.StatusCode, text)
	switch reply.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable:
		seconds, _ := strconv.Atoi(reply.Header.Get("Retry-After"))
		return time.Duration(seconds) * time.Second, refused
	}
	return -1, refused
}

func refusal(status int, text []byte) error {
	var body struct {
		Error struct{ Code, Message string }
	}
	if json.Unmarshal(text, &body) != nil || body.Error.Code == "" {
		return &Refused{status, strconv.Itoa(status), string(text)}
	}
	return &Refused{status, body.Error.Code, body.Error.Message}
}

type status struct {
	Status string `json:"status"`
	Error  *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// wait returns once the request is COMPLETED.
func (c *client) wait(ctx context.Context, request string) error {
	for {
		var told status
		if err := c.call(ctx, "GET", request+"/status?wait=60&until=final", "", nil, &told); err != nil {
			return err
		}
		fmt.Println("status:", told.Status)
		switch told.Status {
		case "COMPLETED":
			return nil
		case "FAILED":
			return fmt.Errorf("the request failed: %s", told.Error.Message)
		case "CANCELLED":
			return errors.New("the request was cancelled")
		}
	}
}

// download writes the file completely or not at all. It needs no key, because the link is signed.
func (c *client) download(ctx context.Context, url, file string) (err error) {
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return err
	}
	reply, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(reply.Body)
		return refusal(reply.StatusCode, text)
	}
	part := file + ".part"
	target, err := os.Create(part)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(part)
		}
	}()
	_, err = io.Copy(target, reply.Body)
	if closed := target.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(part, file)
}

type options struct {
	prompt, model, file, job string
	mostUsdMicro             int64
}

func (c *client) picture(ctx context.Context, o options) error {
	// Without a resolution the price of the most expensive one is reserved.
	input := map[string]any{"prompt": o.prompt, "resolution": "1k"}
	var estimate struct {
		Price string `json:"price_usd_micro"`
	}
	asked := map[string]any{"model_id": o.model, "input": input}
	if err := c.call(ctx, "POST", "/estimate", "", asked, &estimate); err != nil {
		return err
	}
	fmt.Println("price:", estimate.Price, "millionths of a dollar")
	price, err := strconv.ParseInt(estimate.Price, 10, 64)
	if err != nil {
		return err
	}
	if price > o.mostUsdMicro {
		return fmt.Errorf("the price is above %d; nothing was submitted", o.mostUsdMicro)
	}

	var queued struct {
		RequestID string `json:"request_id"`
	}
	if err := c.call(ctx, "POST", "/queue/"+o.model, o.job, input, &queued); err != nil {
		return err
	}
	fmt.Println("request:", queued.RequestID)
	request := "/requests/" + queued.RequestID
	if err := c.wait(ctx, request); err != nil {
		return err
	}

	var output struct {
		Images []struct {
			URL string `json:"url"`
		} `json:"images"`
	}
	if err := c.call(ctx, "GET", request+"/response", "", nil, &output); err != nil {
		return err
	}
	if len(output.Images) == 0 {
		return errors.New("the model made no image")
	}
	if err := c.download(ctx, output.Images[0].URL, o.file); err != nil {
		return err
	}
	var card struct {
		Charged string `json:"charged_usd_micro"`
	}
	if err := c.call(ctx, "GET", request, "", nil, &card); err != nil {
		return err
	}
	fmt.Println("charged:", card.Charged)
	fmt.Println("written:", o.file)
	return nil
}

func main() {
	var o options
	flag.StringVar(&o.model, "model", "sandbox/canvas/text-to-image", "id of the model")
	flag.StringVar(&o.file, "file", "picture.png", "where to write the image")
	flag.StringVar(&o.job, "idempotency-key", newKey(), "a name for the job: the same key again finds the same job")
	flag.Int64Var(&o.mostUsdMicro, "max-usd-micro", 1_000_000, "the most that the job may cost")
	flag.Parse()
	o.prompt = flag.Arg(0)
	c := &client{
		base: os.Getenv("FAREBOX_BASE_URL"),
		key:  os.Getenv("FAREBOX_API_KEY"),
		http: &http.Client{Timeout: callTimeout},
	}
	if c.base == "" {
		c.base = "http://localhost:8080/v1"
	}
	if c.key == "" || o.prompt == "" {
		fmt.Fprintln(os.Stderr, "Set FAREBOX_API_KEY, and give a prompt.")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := c.picture(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func newKey() string {
	raw := make([]byte, 16)
	if _, err := rand.Read(raw); err != nil {
		panic(err)
	}
	return hex.EncodeToString(raw)
}
