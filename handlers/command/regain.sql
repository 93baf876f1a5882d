-- Undoes what SQL of a user may have set in the session, the role included.
reset session authorization;
reset role;
reset all;
