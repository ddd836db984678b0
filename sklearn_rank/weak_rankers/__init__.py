"""Old names: files of version 0.1.0 look here for fitted weak rankers, now in `models.rules`.

Nothing else imports these modules, so they are loaded with such a file only.
"""
