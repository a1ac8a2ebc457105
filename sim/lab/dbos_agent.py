"""An agent whose steps are steps of a DBOS workflow, which DBOS records in a database when they are done.

Each supervisor has a database of its own: any process of the same version that is connected to one may take a
workflow that is to be recovered.
"""

from typing import Any

from dbos import DBOS, SetWorkflowID

from sim.lab.board import END, OVER
from sim.lab.step_agent import StepAgent

POLL_S = 0.005


class Agent(StepAgent):
    """One attempt of a run."""

    def live(self) -> None:
        """Let DBOS recover the workflow, or start it, and wait for its end."""
        config: Any = {
            "name": "savegap",
            "system_database_url": f"sqlite:///{self.site.folder / 'dbos.db'}",
            "application_version": "1",
            "executor_id": self.site.folder.name,
            "run_admin_server": False,
            "log_level": "CRITICAL",
        }
        DBOS(config=config)

        @DBOS.step()
        def step(number: int) -> None:
            self.do(number)

        @DBOS.workflow()
        def workflow(run: str) -> None:
            if run != self.order.run:
                return  # one that was killed when all its steps were done; it is over for the laboratory
            for number in self.steps:
                step(number)
                for move in self.saves(number):
                    self.board.note(END, move.id)
                self.halt("step_saved")

        DBOS.launch()
        handle: Any
        if DBOS.get_workflow_status(self.order.run) is not None:
            handle = DBOS.retrieve_workflow(
                self.order.run
            )  # DBOS recovers it, about a second after the launch
        else:
            with SetWorkflowID(self.order.run):
                handle = DBOS.start_workflow(workflow, self.order.run)
        handle.get_result(polling_interval_sec=POLL_S)
        self.load(self.end)
        self.board.note(OVER)
