# The image holds the static program alone, and runs it as nobody in particular:
#   docker build -t faultline . && docker run --rm -v "$PWD:/work:ro" -w /work faultline run scenarios/kind-walkthrough
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd cmd
COPY docs docs
COPY pkg pkg
COPY scenarios scenarios
ARG VERSION=dev
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags "-s -w -X github.com/faultline/faultline/cmd/simulate/app.version=${VERSION}" -o /simulate ./cmd/simulate

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /simulate /simulate
USER nonroot:nonroot
ENTRYPOINT ["/simulate"]
