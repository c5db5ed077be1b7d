"""An empty FastAPI route under the uvicorn of `vigencia serve`: `python -m benchmarks.empty_server PORT`."""

import sys

import uvicorn
from fastapi import FastAPI


def main() -> None:
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)

    @app.get("/v1/state")
    def state() -> dict[str, str]:
        return {}

    config = uvicorn.Config(
        app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", access_log=False, server_header=False
    )
    uvicorn.Server(config).run()


if __name__ == "__main__":
    main()
